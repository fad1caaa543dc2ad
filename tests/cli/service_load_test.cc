// The load of `bench service` against a server in this process, which counts
// what comes.

#include "client/cli/service_load.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/server.h"
#include "tests/client/test_server.h"
#include "tests/status_matchers.h"
#include "tests/temp_dir.h"

namespace packhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class ServiceLoadTest : public testing::Test {
 protected:
  ServiceLoadTest() {
    query_.client.target = "unix:" + folder_.File("socket");
    query_.client.batch_sequences = 4;
    query_.spec.capacity_tokens = 8;
    query_.spec.window_sequences = 4;
    query_.seconds = 0.05;
  }

  void Start(const SessionLimits& limits = {}) {
    server_ = StartServer(query_.client.target, limits);
  }

  TempDir folder_;
  LoadQuery query_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServiceLoadTest, ReportsWhatTheServerCounts) {
  Start();
  for (uint64_t streams : {1, 3}) {
    for (uint64_t in_flight : {1, 5}) {
      query_.streams = streams;
      query_.in_flight = in_flight;
      const ServerTotals before = server_->totals();
      const LoadResult result = *RunLoad(query_, {5, 3, 4, 4, 8, 2, 1});
      const ServerTotals after = server_->totals();
      EXPECT_THAT(result.failures, IsEmpty());
      EXPECT_GT(result.batches, 0);
      EXPECT_EQ(result.round_trips.count(), result.batches);
      EXPECT_EQ(result.sequences, result.batches * 4);
      EXPECT_EQ(result.refused_batches, 0);
      EXPECT_EQ(result.sequences, after.sequences - before.sequences);
      EXPECT_EQ(result.packs, after.packs - before.packs);
      EXPECT_EQ(after.streams - before.streams, streams);
      EXPECT_GT(result.seconds, 0);
      EXPECT_GE(result.worst_stream_p99_ns, result.round_trips.QuantileNs(0.5));
      EXPECT_LE(result.worst_stream_p99_ns, result.round_trips.max_ns());
    }
  }
}

TEST_F(ServiceLoadTest, RateSaysHowManyBatchesThereMayBe) {
  Start();
  query_.batches_per_second = 400;
  for (uint64_t streams : {1, 3, 40}) {
    query_.streams = streams;
    const uint64_t batches = RunLoad(query_, {1, 2, 3})->batches;
    EXPECT_GT(batches, 0);
    EXPECT_LE(batches, 20);
  }
}

TEST_F(ServiceLoadTest, NoTimeIsNoBatch) {
  Start();
  query_.seconds = 0;
  query_.streams = 2;
  for (double rate : {0, 1000}) {
    query_.batches_per_second = rate;
    const LoadResult result = *RunLoad(query_, {1});
    EXPECT_THAT(result.failures, IsEmpty());
    EXPECT_EQ(result.batches, 0);
    EXPECT_EQ(result.seconds, 0);
  }
  EXPECT_EQ(server_->totals().streams, 4);
}

TEST_F(ServiceLoadTest, KeepsToTheCredit) {
  SessionLimits limits;
  limits.credit_inputs = 2;
  limits.credit_sequences = 5;  // one batch
  Start(limits);
  query_.in_flight = 50;
  const LoadResult result = *RunLoad(query_, {1, 2, 3});
  EXPECT_THAT(result.failures, IsEmpty());
  EXPECT_GT(result.batches, 0);
}

TEST_F(ServiceLoadTest, BatchBeyondTheLimitOfTheServerFails) {
  SessionLimits limits;
  limits.max_batch_sequences = 3;
  Start(limits);
  query_.streams = 2;
  const LoadResult result = *RunLoad(query_, {1, 2, 3});
  EXPECT_THAT(result.failures,
              ElementsAre(Pair(absl::StatusCode::kInvalidArgument, 2)));
  EXPECT_THAT(result.first_failure.message(), HasSubstr("at most 3"));
  EXPECT_EQ(result.batches, 0);
}

TEST_F(ServiceLoadTest, RefusedBatchesAreCountedApart) {
  Start();
  // Every second batch has a length over the capacity.
  const LoadResult result = *RunLoad(query_, {1, 2, 3, 4, 5, 6, 7, 9});
  EXPECT_THAT(result.failures, IsEmpty());
  EXPECT_GT(result.batches, 1);
  EXPECT_EQ(result.refused_batches, result.batches / 2);
  EXPECT_EQ(server_->totals().sequences,
            4 * (result.batches - result.refused_batches));
}

TEST_F(ServiceLoadTest, SpecThatTheServerRefusesIsAnError) {
  SessionLimits limits;
  limits.max_window_sequences = 3;
  Start(limits);
  EXPECT_THAT(RunLoad(query_, {1}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("window_sequences")));
}

TEST_F(ServiceLoadTest, NobodyThereIsAnError) {
  query_.client.answer_within = absl::Milliseconds(50);
  query_.streams = 3;
  EXPECT_THAT(RunLoad(query_, {1}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("socket")));
  // With the reason, long before answer_within.
  query_.client.answer_within = absl::InfiniteDuration();
  EXPECT_THAT(RunLoad(query_, {1}),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("No such file or directory")));
  query_.client.target = "nobody";
  EXPECT_THAT(RunLoad(query_, {1}), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("nobody")));
}

TEST_F(ServiceLoadTest, LoadsOneServer) {
  Start();
  query_.client.target += ",127.0.0.1:1";
  EXPECT_THAT(RunLoad(query_, {1}), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("one server")));
}

}  // namespace
}  // namespace packhouse
