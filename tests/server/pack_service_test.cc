// PackerService through a real server, a real channel and the generated stub.

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/packer.h"
#include "packhouse/plan.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "server/server.h"
#include "session/codec/codec.h"
#include "tests/packs.h"
#include "tests/server/connect.h"
#include "tests/server/http_get.h"
#include "tests/server/pack_call.h"
#include "tests/server/standstill.h"
#include "tests/status_matchers.h"
#include "tests/temp_dir.h"

namespace packhouse {
namespace {

using testing::HasSubstr;

class PackServiceTest : public testing::Test {
 protected:
  PackServiceTest() {
    ServerOptions options;
    options.listen = {"unix:" + dir_.File("socket"), "127.0.0.1:0"};
    options.http = "127.0.0.1:0";
    options.max_plan_sequences = 1000;
    options.limits.max_window_sequences = 100000;
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options);
    EXPECT_THAT(server, IsOk());
    server_ = *std::move(server);
  }

  // Over the Unix socket.
  PackCall NewCall() { return PackCall(Connect(server_->addresses()[0])); }

  // Waits until the page of metrics has this line.
  void ExpectMetric(const std::string& line) {
    const absl::Time limit = absl::Now() + kLimit;
    std::string page;
    do {
      page = HttpGet(server_->http_address(), "/metrics");
      if (page.find("\n" + line + "\n") != std::string::npos) return;
    } while (absl::Now() < limit);
    ADD_FAILURE() << "no line " << line << " in " << page;
  }

  TempDir dir_;
  std::unique_ptr<Server> server_;
};

// Packs are those of the packer in process, over both kinds of socket and from
// several streams at once, each with batches of other sizes.
TEST_F(PackServiceTest, SamePacksAsInProcess) {
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      const PackSpec spec = MakeSpec(512, 64 + t);
      std::mt19937 random(t);
      const std::vector<uint32_t> lengths = RandomLengths(20000, 512, &random);
      Packer packer = *Packer::Create(spec);
      Packs expected;

      PackCall call(Connect(server_->addresses()[t % 2]));
      ASSERT_TRUE(call.Send(OpenWith(spec)));
      std::thread writer([&] {
        uint64_t number = 0;
        for (size_t begin = 0; begin < lengths.size();) {
          const size_t size =
              std::min<size_t>(random() % 1000, lengths.size() - begin);
          const auto piece = absl::MakeConstSpan(lengths).subspan(begin, size);
          begin += size;
          ASSERT_THAT(packer.Add(piece, &expected), IsOk());
          ASSERT_TRUE(call.Send(Batch{++number, {piece.begin(), piece.end()}}));
          if (random() % 8 == 0) {
            ASSERT_THAT(packer.Flush(&expected), IsOk());
            ASSERT_TRUE(call.Send(Flush{++number}));
          }
        }
        ASSERT_THAT(packer.Finish(&expected), IsOk());
        ASSERT_TRUE(call.Send(End{++number}));
      });
      Packs packs;
      call.ReadAll(&packs);
      writer.join();
      EXPECT_THAT(call.Finish(), IsOk());
      EXPECT_TRUE(packs == expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server_->totals().streams, 8);
  EXPECT_EQ(server_->totals().sequences, 160000);
}

TEST_F(PackServiceTest, OpenedCarriesTheLimits) {
  PackCall call = NewCall();
  ASSERT_TRUE(call.Send(OpenWith(MakeSpec(8, 4))));
  Response response;
  ASSERT_TRUE(call.Read(&response));
  const auto* opened = std::get_if<Opened>(&response.event);
  ASSERT_NE(opened, nullptr);
  EXPECT_EQ(opened->protocol_version, kProtocolVersion);
  EXPECT_NE(opened->server_incarnation, 0);
  EXPECT_EQ(opened->max_batch_sequences, kMaxBatchSequences);
  ASSERT_TRUE(response.credit.has_value());
  EXPECT_EQ(response.credit->max_number, SessionLimits().credit_inputs);
}

TEST_F(PackServiceTest, RefusedBatchDoesNotEndTheStream) {
  PackCall call = NewCall();
  ASSERT_TRUE(call.Send(OpenWith(MakeSpec(8, 4))));
  ASSERT_TRUE(call.Send(Batch{1, {3, 9}}));
  Response response;
  const Refused* refused = nullptr;
  while (refused == nullptr && call.Read(&response)) {
    refused = std::get_if<Refused>(&response.event);
  }
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->number, 1);
  EXPECT_THAT(refused->status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("9")));
  ASSERT_TRUE(call.Send(Batch{2, {3, 5}}));
  ASSERT_TRUE(call.Send(End{3}));
  Packs packs;
  call.ReadAll(&packs);
  EXPECT_THAT(call.Finish(), IsOk());
  EXPECT_EQ(packs.offsets, std::vector<uint64_t>({0, 2}));
  ExpectMetric("packhouse_refused_batches_total 1");
}

struct Violation {
  std::vector<Request> requests;
  absl::StatusCode code;
  std::string text;
};

TEST_F(PackServiceTest, ViolationsEndTheStreamWithTheirCode) {
  const Open open = OpenWith(MakeSpec(8, 4));
  Open other_version = open;
  other_version.protocol_version = 99;
  PackSpec unknown = MakeSpec(8, 4);
  unknown.algorithm = "magic";
  const std::vector<Violation> violations = {
      {{Batch{1, {3}}}, absl::StatusCode::kFailedPrecondition, "open"},
      {{std::monostate()}, absl::StatusCode::kFailedPrecondition, "content"},
      {{open, open}, absl::StatusCode::kFailedPrecondition, "open"},
      {{other_version}, absl::StatusCode::kFailedPrecondition, "99"},
      {{OpenWith(MakeSpec(0, 4))},
       absl::StatusCode::kInvalidArgument,
       "capacity_tokens"},
      {{OpenWith(unknown)}, absl::StatusCode::kInvalidArgument, "spfhp"},
      {{OpenWith(MakeSpec(8, 100001))},
       absl::StatusCode::kResourceExhausted,
       "100000"},
      {{open, Batch{1, {3}}, Batch{3, {3}}},
       absl::StatusCode::kOutOfRange,
       "2"},
      {{open, Batch{1, std::vector<uint32_t>(kMaxBatchSequences + 1, 1)}},
       absl::StatusCode::kResourceExhausted,
       "65536"},
  };
  for (size_t i = 0; i < violations.size(); ++i) {
    SCOPED_TRACE(i);
    PackCall call = NewCall();
    for (const Request& request : violations[i].requests) call.Send(request);
    Packs packs;
    call.ReadAll(&packs);
    EXPECT_THAT(call.Finish(),
                StatusIs(violations[i].code, HasSubstr(violations[i].text)));
  }
  ExpectMetric("packhouse_streams_started_total 9");
  ExpectMetric("packhouse_streams 0");
  ExpectMetric("packhouse_streams_ended_total{code=\"OUT_OF_RANGE\"} 1");
  ExpectMetric("packhouse_streams_ended_total{code=\"FAILED_PRECONDITION\"} 4");
}

TEST_F(PackServiceTest, ClosingWithoutEndIsAViolation) {
  PackCall call = NewCall();
  ASSERT_TRUE(call.Send(OpenWith(MakeSpec(8, 4))));
  call.WritesDone();
  Packs packs;
  call.ReadAll(&packs);
  EXPECT_THAT(call.Finish(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      HasSubstr("`end`")));
  ExpectMetric("packhouse_streams_ended_total{code=\"FAILED_PRECONDITION\"} 1");
}

// What is sent to a client that does not read piles up nowhere: the server
// stops reading from it. When the client reads, all of it is there.
TEST_F(PackServiceTest, SlowReaderIsHeldUp) {
  constexpr uint64_t kBatches = 1000;
  constexpr uint64_t kBatchSequences = 16384;
  PackCall call = NewCall();
  ASSERT_TRUE(call.Send(OpenWith(MakeSpec(8, 1))));
  std::thread writer([&] {
    const std::vector<uint32_t> lengths(kBatchSequences, 8);
    for (uint64_t i = 1; i <= kBatches; ++i) {
      ASSERT_TRUE(call.Send(Batch{i, lengths}));
    }
    ASSERT_TRUE(call.Send(End{kBatches + 1}));
  });

  const uint64_t taken = AwaitStandstill(*server_);
  // gRPC lets about 4 MiB of answers through, 4 bytes a sequence at most.
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, kBatches * kBatchSequences / 4);

  Packs packs;
  call.ReadAll(&packs);
  writer.join();
  EXPECT_THAT(call.Finish(), IsOk());
  EXPECT_EQ(packs.size(), kBatches * kBatchSequences);
}

TEST_F(PackServiceTest, CancelledStreamsLeaveNothing) {
  const std::shared_ptr<grpc::Channel> channel =
      Connect(server_->addresses()[0]);
  constexpr int kCalls = 100;
  for (int i = 0; i < kCalls; ++i) {
    PackCall call(channel);
    ASSERT_TRUE(call.Send(OpenWith(MakeSpec(8, 4))));
    Response response;
    ASSERT_TRUE(call.Read(&response));
    // Some while answers are on the way, some while the server waits.
    if (i % 2 == 0) call.Send(Batch{1, std::vector<uint32_t>(10001, 3)});
    if (i % 4 == 0) call.Read(&response);
    call.Cancel();
    EXPECT_THAT(call.Finish(),
                StatusIs(absl::StatusCode::kCancelled, testing::_));
  }
  ExpectMetric("packhouse_streams_ended_total{code=\"CANCELLED\"} 100");
  ExpectMetric("packhouse_streams 0");
  ExpectMetric("packhouse_pending_units 0");
}

// Of a stream that is cancelled, what was packed and what was not is told.
TEST_F(PackServiceTest, AbandonedSequencesAreCounted) {
  PackCall call = NewCall();
  ASSERT_TRUE(call.Send(OpenWith(MakeSpec(8, 4))));
  ASSERT_TRUE(call.Send(Batch{1, {8, 8, 8, 8, 3, 2}}));
  Response response;
  do {
    ASSERT_TRUE(call.Read(&response));
  } while (!std::holds_alternative<PackList>(response.event));
  ExpectMetric("packhouse_pending_units 2");
  call.Cancel();
  EXPECT_THAT(call.Finish(),
              StatusIs(absl::StatusCode::kCancelled, testing::_));
  ExpectMetric("packhouse_abandoned_units_total 2");
  ExpectMetric("packhouse_abandoned_tokens_total 5");
  ExpectMetric("packhouse_pending_units 0");
  ExpectMetric("packhouse_packed_units_total 4");
  ExpectMetric("packhouse_sequences_total 6");
}

absl::StatusOr<Packs> CallPlan(const std::string& address,
                               const std::vector<uint32_t>& lengths,
                               const PackSpec& spec) {
  v1::PlanRequest request;
  Encode(spec, request.mutable_spec());
  request.mutable_lengths()->Assign(lengths.begin(), lengths.end());
  v1::PlanResponse response;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kLimit));
  const grpc::Status status = v1::PackerService::NewStub(Connect(address))
                                  ->Plan(&context, request, &response);
  if (!status.ok()) {
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                        status.error_message());
  }
  PackList list;
  if (absl::Status decoded = Decode(response.packs(), &list); !decoded.ok()) {
    return decoded;
  }
  EXPECT_EQ(list.first_number, 1);
  return list.packs;
}

TEST_F(PackServiceTest, Plan) {
  const std::string& address = server_->addresses()[1];
  const PackSpec spec = MakeSpec(512, 100);
  std::mt19937 random(1);
  const std::vector<uint32_t> lengths = RandomLengths(1000, 512, &random);
  const absl::StatusOr<Packs> packs = CallPlan(address, lengths, spec);
  ASSERT_THAT(packs, IsOk());
  EXPECT_TRUE(*packs == *packhouse::Plan(lengths, spec));

  EXPECT_THAT(CallPlan(address, std::vector<uint32_t>(1001, 1), spec),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       testing::AllOf(HasSubstr("1001"), HasSubstr("1000"))));
  EXPECT_THAT(CallPlan(address, {1, 513}, spec),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("513")));
  EXPECT_THAT(CallPlan(address, {1}, MakeSpec(0, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("capacity_tokens")));
  ExpectMetric("packhouse_plans_total{code=\"OK\"} 1");
  ExpectMetric("packhouse_plans_total{code=\"INVALID_ARGUMENT\"} 2");
  ExpectMetric("packhouse_sequences_total 1000");
}

}  // namespace
}  // namespace packhouse
