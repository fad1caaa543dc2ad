// What PackStream and Client promise, for every back end: all of them must give
// what one Packer in this process gives.

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/client.h"
#include "packhouse/packer.h"
#include "packhouse/plan.h"
#include "packhouse/plan_check.h"
#include "session/messages.h"
#include "tests/client/test_server.h"
#include "tests/packs.h"
#include "tests/status_matchers.h"
#include "tests/temp_dir.h"

namespace packhouse {
namespace {

using testing::HasSubstr;

enum class BackEnd { kInProcess, kUnixSocket, kTcp };

class ClientTest : public testing::TestWithParam<BackEnd> {
 protected:
  void SetUp() override {
    if (GetParam() == BackEnd::kInProcess) return;
    server_ = StartServer(GetParam() == BackEnd::kUnixSocket
                              ? "unix:" + dir_.File("socket")
                              : "127.0.0.1:0");
  }

  std::unique_ptr<Client> MakeClient(uint32_t batch_sequences = 4096) {
    ClientOptions options;
    if (server_ != nullptr) options.target = server_->addresses()[0];
    options.batch_sequences = batch_sequences;
    return *Client::Create(options);
  }

  TempDir dir_;
  std::unique_ptr<Server> server_;
};

std::string Name(const testing::TestParamInfo<BackEnd>& back_end) {
  switch (back_end.param) {
    case BackEnd::kInProcess:
      return "InProcess";
    case BackEnd::kUnixSocket:
      return "UnixSocket";
    case BackEnd::kTcp:
      return "Tcp";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(BackEnds, ClientTest,
                         testing::Values(BackEnd::kInProcess,
                                         BackEnd::kUnixSocket, BackEnd::kTcp),
                         Name);

// Takes what is there and appends it.
void TakeInto(PackStream* stream, Packs* packs) {
  const absl::StatusOr<Packs> taken = stream->Take();
  ASSERT_THAT(taken, IsOk());
  packs->Append(*taken);
}

Packs TakeAll(PackStream* stream) {
  Packs packs;
  TakeInto(stream, &packs);
  return packs;
}

// Gives `lengths` in random pieces with flushes at random places, and takes
// packs now and then. `expected` gets the packs of a Packer that was given the
// same in the same order.
void StreamAtRandom(const std::vector<uint32_t>& lengths, const PackSpec& spec,
                    std::mt19937* random, PackStream* stream, Packs* packs,
                    Packs* expected) {
  Packer packer = *Packer::Create(spec);
  std::uniform_int_distribution<size_t> piece_sizes(0, lengths.size() / 4 + 1);
  std::uniform_int_distribution<int> die(1, 6);
  absl::Span<const uint32_t> rest = lengths;
  while (!rest.empty()) {
    const auto piece = rest.subspan(0, piece_sizes(*random));
    rest.remove_prefix(piece.size());
    ASSERT_THAT(stream->Add(piece), IsOk());
    ASSERT_THAT(packer.Add(piece, expected), IsOk());
    if (die(*random) == 1) {
      ASSERT_THAT(stream->Flush(), IsOk());
      ASSERT_THAT(packer.Flush(expected), IsOk());
    }
    if (die(*random) == 1) TakeInto(stream, packs);
  }
  ASSERT_THAT(stream->End(), IsOk());
  ASSERT_THAT(packer.Finish(expected), IsOk());
  TakeInto(stream, packs);
}

TEST_P(ClientTest, PacksDoNotDependOnPiecesAndBatches) {
  std::mt19937 random(1);
  for (const uint32_t batch_sequences : {1, 7, 4096}) {
    const std::unique_ptr<Client> client = MakeClient(batch_sequences);
    for (const int64_t window : {1, 10, 1024, 1 << 18}) {
      for (const std::string& algorithm : AlgorithmNames()) {
        if (!IsOnline(algorithm)) continue;
        SCOPED_TRACE(testing::Message()
                     << algorithm << " with window " << window
                     << " in batches of " << batch_sequences);
        PackSpec spec = MakeSpec(200, window);
        spec.algorithm = algorithm;
        spec.sequence_alignment = window == 10 ? 8 : 1;
        spec.max_sequences_per_pack = window == 1024 ? 3 : 0;
        const std::vector<uint32_t> lengths = RandomLengths(3000, 200, &random);
        const std::unique_ptr<PackStream> stream = *client->OpenStream(spec);
        Packs packs;
        Packs expected;
        ASSERT_NO_FATAL_FAILURE(StreamAtRandom(
            lengths, spec, &random, stream.get(), &packs, &expected));
        EXPECT_TRUE(packs == expected);
        EXPECT_THAT(Verify(lengths, spec, packs), IsOk());
      }
    }
  }
}

TEST_P(ClientTest, OneAddOfAnyLength) {
  std::mt19937 random(2);
  const std::vector<uint32_t> lengths = RandomLengths(1000000, 512, &random);
  const PackSpec spec = MakeSpec(512, 1024);
  const std::unique_ptr<Client> client = MakeClient();
  const std::unique_ptr<PackStream> stream = *client->OpenStream(spec);
  ASSERT_THAT(stream->Add(lengths), IsOk());
  ASSERT_THAT(stream->End(), IsOk());
  EXPECT_TRUE(TakeAll(stream.get()) == *Plan(lengths, spec));
}

TEST_P(ClientTest, PlanIsTheStreamsPacks) {
  std::mt19937 random(3);
  const std::unique_ptr<Client> client = MakeClient();
  for (const size_t count :
       {size_t{0}, size_t{1}, size_t{5000}, size_t{kMaxPlanSequences}}) {
    const std::vector<uint32_t> lengths = RandomLengths(count, 512, &random);
    const PackSpec spec = MakeSpec(512, 100);
    const absl::StatusOr<Packs> packs = client->Plan(lengths, spec);
    ASSERT_THAT(packs, IsOk());
    EXPECT_TRUE(*packs == *Plan(lengths, spec)) << count;
  }
}

TEST_P(ClientTest, AStreamWithoutSequences) {
  const std::unique_ptr<Client> client = MakeClient();
  const std::unique_ptr<PackStream> stream =
      *client->OpenStream(MakeSpec(9, 9));
  EXPECT_THAT(stream->Add({}), IsOk());
  EXPECT_THAT(stream->Flush(), IsOk());
  EXPECT_THAT(stream->Wait(), IsOk());
  EXPECT_THAT(stream->End(), IsOk());
  EXPECT_TRUE(TakeAll(stream.get()).empty());
}

TEST_P(ClientTest, InvalidSpecsAreNamed) {
  const std::unique_ptr<Client> client = MakeClient();
  PackSpec spec = MakeSpec(0, 0);
  const auto names_both = testing::AllOf(HasSubstr("capacity_tokens"),
                                         HasSubstr("window_sequences"));
  EXPECT_THAT(client->OpenStream(spec),
              StatusIs(absl::StatusCode::kInvalidArgument, names_both));
  EXPECT_THAT(client->Plan({1}, spec),
              StatusIs(absl::StatusCode::kInvalidArgument, names_both));
}

TEST_P(ClientTest, InvalidLengthsChangeNothing) {
  constexpr uint32_t kMax = std::numeric_limits<uint32_t>::max();
  const PackSpec spec = MakeSpec(10, 4);
  const std::unique_ptr<Client> client = MakeClient(/*batch_sequences=*/2);
  const std::unique_ptr<PackStream> stream = *client->OpenStream(spec);
  ASSERT_THAT(stream->Add({3, 4, 5}), IsOk());
  EXPECT_THAT(stream->Add({6, 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4")));
  EXPECT_THAT(stream->Add({11}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("11")));
  EXPECT_THAT(stream->Add({kMax}), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("4294967295")));
  // The offender is far behind the first batches.
  std::vector<uint32_t> late_offender(10000, 1);
  late_offender.back() = 0;
  EXPECT_THAT(stream->Add(late_offender),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("10002")));
  ASSERT_THAT(stream->Add({6, 7}), IsOk());
  ASSERT_THAT(stream->End(), IsOk());
  EXPECT_TRUE(TakeAll(stream.get()) == *Plan({3, 4, 5, 6, 7}, spec));

  EXPECT_THAT(client->Plan({1, 11}, spec),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("11")));
}

TEST_P(ClientTest, NothingFollowsTheEnd) {
  const std::unique_ptr<Client> client = MakeClient();
  const std::unique_ptr<PackStream> stream =
      *client->OpenStream(MakeSpec(9, 9));
  ASSERT_THAT(stream->Add({1, 2}), IsOk());
  ASSERT_THAT(stream->End(), IsOk());
  EXPECT_THAT(stream->Add({3}),
              StatusIs(absl::StatusCode::kFailedPrecondition, testing::_));
  EXPECT_THAT(stream->Flush(),
              StatusIs(absl::StatusCode::kFailedPrecondition, testing::_));
  EXPECT_THAT(stream->End(), IsOk());
  EXPECT_THAT(stream->Wait(), IsOk());
  EXPECT_THAT(TakeAll(stream.get()).ordinals, testing::ElementsAre(0, 1));
  EXPECT_TRUE(TakeAll(stream.get()).empty());
}

TEST_P(ClientTest, AfterWaitAllDecidedPacksAreThere) {
  std::mt19937 random(4);
  const std::vector<uint32_t> lengths = RandomLengths(1003, 50, &random);
  const PackSpec spec = MakeSpec(100, 10);
  Packer packer = *Packer::Create(spec);
  const std::unique_ptr<Client> client = MakeClient();
  const std::unique_ptr<PackStream> stream = *client->OpenStream(spec);
  for (absl::Span<const uint32_t> rest = lengths; !rest.empty();) {
    const auto piece = rest.subspan(0, 59);
    rest.remove_prefix(piece.size());
    Packs expected;
    ASSERT_THAT(packer.Add(piece, &expected), IsOk());
    ASSERT_THAT(stream->Add(piece), IsOk());
    ASSERT_THAT(stream->Wait(), IsOk());
    EXPECT_TRUE(TakeAll(stream.get()) == expected);
  }
  Packs expected;
  ASSERT_THAT(packer.Flush(&expected), IsOk());
  ASSERT_THAT(stream->Flush(), IsOk());
  ASSERT_THAT(stream->Wait(), IsOk());
  EXPECT_TRUE(TakeAll(stream.get()) == expected);
}

TEST_P(ClientTest, StreamsOfSeveralThreads) {
  const PackSpec spec = MakeSpec(128, 64);
  const std::unique_ptr<Client> client = MakeClient(/*batch_sequences=*/100);
  std::vector<std::thread> threads;
  for (uint32_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&client, &spec, seed] {
      std::mt19937 random(seed);
      const std::vector<uint32_t> lengths = RandomLengths(20000, 128, &random);
      const std::unique_ptr<PackStream> stream = *client->OpenStream(spec);
      Packs packs;
      Packs expected;
      ASSERT_NO_FATAL_FAILURE(StreamAtRandom(lengths, spec, &random,
                                             stream.get(), &packs, &expected));
      EXPECT_TRUE(packs == expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(ClientTest, OneThreadGivesAnotherTakes) {
  std::mt19937 random(5);
  const std::vector<uint32_t> lengths = RandomLengths(300000, 128, &random);
  const PackSpec spec = MakeSpec(128, 64);
  const std::unique_ptr<Client> client = MakeClient(/*batch_sequences=*/100);
  const std::unique_ptr<PackStream> stream = *client->OpenStream(spec);
  std::atomic<bool> ended{false};
  std::thread giver([&] {
    EXPECT_THAT(stream->Add(lengths), IsOk());
    EXPECT_THAT(stream->End(), IsOk());
    ended = true;
  });
  Packs packs;
  while (!ended) {
    TakeInto(stream.get(), &packs);
    std::this_thread::yield();
  }
  giver.join();
  TakeInto(stream.get(), &packs);
  EXPECT_TRUE(packs == *Plan(lengths, spec));
}

TEST_P(ClientTest, AStreamOutlivesItsClient) {
  std::unique_ptr<Client> client = MakeClient();
  const std::unique_ptr<PackStream> stream =
      *client->OpenStream(MakeSpec(9, 9));
  client.reset();
  ASSERT_THAT(stream->Add({4, 5}), IsOk());
  ASSERT_THAT(stream->End(), IsOk());
  EXPECT_THAT(TakeAll(stream.get()).ordinals, testing::ElementsAre(0, 1));
}

TEST_P(ClientTest, StreamsMayBeAbandonedAtAnyPoint) {
  const PackSpec spec = MakeSpec(100, 10);
  std::mt19937 random(6);
  const std::vector<uint32_t> lengths = RandomLengths(20000, 100, &random);
  {
    const std::unique_ptr<Client> client = MakeClient(/*batch_sequences=*/50);
    for (int i = 0; i < 100; ++i) {
      const std::unique_ptr<PackStream> stream = *client->OpenStream(spec);
      if (i % 5 >= 1) {
        ASSERT_THAT(stream->Add({1, 2, 3}), IsOk());
      }
      if (i % 5 >= 2) {
        ASSERT_THAT(stream->Add(lengths), IsOk());
      }
      if (i % 5 >= 3) {
        ASSERT_THAT(stream->Flush(), IsOk());
      }
      if (i % 5 >= 4) TakeAll(stream.get());
    }
  }
  if (server_ == nullptr) return;
  EXPECT_EQ(server_->totals().streams, 100u);
  // A stop waits for open streams, up to its grace: there are none.
  const absl::Duration grace = absl::Seconds(60);
  const absl::Time start = absl::Now();
  server_->Stop(grace);
  EXPECT_LT(absl::Now() - start, grace);
}

TEST_P(ClientTest, Health) { EXPECT_THAT(MakeClient()->CheckHealth(), IsOk()); }

TEST(ClientOptions, Limits) {
  const auto create = [](const std::function<void(ClientOptions*)>& set) {
    ClientOptions options;
    set(&options);
    return Client::Create(options).status();
  };
  const auto is_wrong = [](const std::string& text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(create([](ClientOptions* options) {
                options->target = "unix:/nowhere,localhost:1,[::1]:65535";
                options->batch_sequences = 65536;
                options->answer_within = absl::Nanoseconds(1);
                options->unavailable_for = absl::ZeroDuration();
                options->flush_after = absl::Nanoseconds(1);
              }),
              IsOk());
  for (const uint32_t batch : {0, 65537}) {
    EXPECT_THAT(create([&](ClientOptions* options) {
                  options->batch_sequences = batch;
                }),
                is_wrong(absl::StrCat("batch_sequences is ", batch)));
  }
  for (const absl::Duration time :
       {absl::ZeroDuration(), -absl::Seconds(1), absl::InfiniteDuration()}) {
    const std::string text = absl::FormatDuration(time);
    EXPECT_THAT(
        create([&](ClientOptions* options) { options->answer_within = time; }),
        is_wrong("answer_within is " + text));
    if (time != absl::ZeroDuration()) {
      EXPECT_THAT(create([&](ClientOptions* options) {
                    options->unavailable_for = time;
                  }),
                  is_wrong("unavailable_for is " + text));
    }
    if (time != absl::InfiniteDuration()) {
      EXPECT_THAT(
          create([&](ClientOptions* options) { options->flush_after = time; }),
          is_wrong("flush_after is " + text));
    }
  }
  const auto create_for = [&](const std::string& target) {
    return create([&](ClientOptions* options) { options->target = target; });
  };
  EXPECT_THAT(create_for("tcp://x"), is_wrong("address \"tcp://x\""));
  EXPECT_THAT(create_for("localhost:1,"), is_wrong("address \"\""));
  EXPECT_THAT(create_for("unix:x,localhost:0"), is_wrong("target localhost:0"));
  std::string targets = "h:1";
  for (size_t i = 1; i < kMaxTargets; ++i) targets += ",h:1";
  EXPECT_THAT(create_for(targets), IsOk());
  EXPECT_THAT(create_for(targets + ",h:1"), is_wrong("names 17 addresses"));
}

}  // namespace
}  // namespace packhouse
