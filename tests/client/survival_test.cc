// Streams that outlive what they are packed by: servers that die, are silent,
// full or about to stop, and owners that start anew. The packs must be those of
// an unbroken stream.

#include <google/protobuf/any.pb.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/client.h"
#include "packhouse/packer.h"
#include "packhouse/plan.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "tests/client/scripted_server.h"
#include "tests/client/test_server.h"
#include "tests/packs.h"
#include "tests/status_matchers.h"
#include "tests/temp_dir.h"

namespace packhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// For waits that are to reach their limit, and for those that are not to.
constexpr absl::Duration kShort = absl::Milliseconds(300);
constexpr absl::Duration kLong = absl::Seconds(60);

std::unique_ptr<Client> MakeClient(const std::string& target,
                                   absl::Duration answer_within = kLong) {
  ClientOptions options;
  options.target = target;
  options.batch_sequences = 7;
  options.answer_within = answer_within;
  options.unavailable_for = kLong;
  return *Client::Create(options);
}

// --- Owners that start anew -------------------------------------------------

// Each test has a stream saved by one back end and resumed by another: true is
// a sidecar.
class ResumeTest : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  void SetUp() override {
    const std::string target = server_->addresses()[0];
    first_ = MakeClient(std::get<0>(GetParam()) ? target : "");
    second_ = MakeClient(std::get<1>(GetParam()) ? target : "");
  }

  TempDir dir_;
  std::unique_ptr<Server> server_ = StartServer("unix:" + dir_.File("socket"));
  std::unique_ptr<Client> first_;
  std::unique_ptr<Client> second_;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, ResumeTest,
                         testing::Combine(testing::Bool(), testing::Bool()));

TEST_P(ResumeTest, AtEveryPoint) {
  for (const std::string rule : {"spfhp", "sliding"}) {
    std::mt19937 random(1);
    PackSpec spec = MakeSpec(30, 8);
    spec.algorithm = rule;
    spec.overlong = Overlong::kSplit;
    const std::vector<uint32_t> lengths = RandomLengths(60, 70, &random);
    Packs expected;
    Packer packer = *Packer::Create(spec);
    for (size_t i = 0; i < lengths.size(); ++i) {
      ASSERT_THAT(packer.Add({lengths[i]}, &expected), IsOk());
      if (i % 13 == 12) {
        ASSERT_THAT(packer.Flush(&expected), IsOk());
      }
    }
    ASSERT_THAT(packer.Finish(&expected), IsOk());

    const auto give = [&](PackStream* stream, size_t i) {
      ASSERT_THAT(stream->Add({lengths[i]}), IsOk());
      if (i % 13 == 12) {
        ASSERT_THAT(stream->Flush(), IsOk());
      }
    };
    for (size_t cut = 0; cut <= lengths.size(); ++cut) {
      SCOPED_TRACE(absl::StrCat(rule, ", saved after ", cut));
      Packs packs;
      std::string state;
      uint64_t given;
      {
        const auto stream = *first_->OpenStream(spec);
        for (size_t i = 0; i < cut; ++i) {
          give(stream.get(), i);
          if (i % 5 == 4) packs.Append(*stream->Take());
        }
        if (cut % 3 == 0) {
          ASSERT_THAT(stream->Wait(), IsOk());
        }
        const uint64_t taken = packs.size();
        state = *stream->Save();
        EXPECT_EQ(stream->position()->packs, taken);
        given = stream->position()->given;
        // What happens after it was saved is not in it.
        if (cut < lengths.size()) give(stream.get(), cut);
        ASSERT_THAT(stream->Take(), IsOk());
      }
      EXPECT_EQ(given, cut);
      const auto stream = *second_->ResumeStream(spec, state);
      for (size_t i = given; i < lengths.size(); ++i) give(stream.get(), i);
      ASSERT_THAT(stream->End(), IsOk());
      packs.Append(*stream->Take());
      ASSERT_TRUE(packs == expected);
    }
  }
}

TEST_P(ResumeTest, PositionCountsWhatWasTaken) {
  const PackSpec spec = MakeSpec(4, 100);
  const auto stream = *first_->OpenStream(spec);
  // Packs of 4, 1 and 2 sequences; the third has come and was not taken.
  ASSERT_THAT(stream->Add({1, 1, 1, 1}), IsOk());
  ASSERT_THAT(stream->Flush(), IsOk());
  ASSERT_THAT(stream->Add({4}), IsOk());
  ASSERT_THAT(stream->Flush(), IsOk());
  ASSERT_THAT(stream->Wait(), IsOk());
  EXPECT_EQ(stream->Take()->size(), 2u);
  ASSERT_THAT(stream->Add({2, 2}), IsOk());
  ASSERT_THAT(stream->Flush(), IsOk());
  ASSERT_THAT(stream->Wait(), IsOk());

  const auto resumed = *second_->ResumeStream(spec, *stream->Save());
  for (PackStream* each : {stream.get(), resumed.get()}) {
    const StreamPosition position = *each->position();
    EXPECT_EQ(position.read_from, 5u);
    EXPECT_EQ(position.given, 7u);
    EXPECT_EQ(position.packs, 2u);
    EXPECT_THAT(position.done_after, IsEmpty());
    EXPECT_THAT(each->Take()->ordinals, ElementsAre(5, 6));
  }
}

TEST_P(ResumeTest, PositionCountsSequencesNotPacks) {
  const auto stream = *first_->OpenStream(MakeSpec(3, 3));
  ASSERT_THAT(stream->Add(std::vector<uint32_t>(13, 1)), IsOk());
  ASSERT_THAT(stream->Wait(), IsOk());
  EXPECT_EQ(stream->Take()->size(), 4u);
  const auto resumed = *second_->ResumeStream(MakeSpec(3, 3), *stream->Save());
  EXPECT_EQ(resumed->position()->read_from, 12u);
  EXPECT_EQ(resumed->position()->given, 13u);
}

TEST_P(ResumeTest, WaitingSequencesComeOnce) {
  const PackSpec spec = MakeSpec(10, 4);
  std::string state;
  {
    const auto stream = *first_->OpenStream(spec);
    ASSERT_THAT(stream->Add({3, 3, 3}), IsOk());
    state = *stream->Save();
  }
  const auto stream = *second_->ResumeStream(spec, state);
  EXPECT_EQ(stream->position()->read_from, 0u);
  ASSERT_THAT(stream->End(), IsOk());
  EXPECT_THAT(stream->Take()->ordinals, ElementsAre(0, 1, 2));
  EXPECT_TRUE(stream->Take()->empty());
}

TEST_P(ResumeTest, TwiceInARow) {
  const PackSpec spec = MakeSpec(10, 4);
  const auto stream = *first_->OpenStream(spec);
  ASSERT_THAT(stream->Add({3, 3, 3, 3, 5}), IsOk());
  ASSERT_THAT(stream->Wait(), IsOk());
  const std::string state = *stream->Save();
  const auto second = *second_->ResumeStream(spec, state);
  const auto third = *first_->ResumeStream(spec, *second->Save());
  for (PackStream* each : {second.get(), third.get()}) {
    EXPECT_EQ(each->position()->packs, 0u);
    EXPECT_EQ(each->position()->given, 5u);
  }
  ASSERT_THAT(third->End(), IsOk());
  EXPECT_TRUE(*third->Take() == *Plan({3, 3, 3, 3, 5}, spec));
}

TEST_P(ResumeTest, AStreamThatHasEnded) {
  const PackSpec spec = MakeSpec(10, 4);
  const auto stream = *first_->OpenStream(spec);
  ASSERT_THAT(stream->Add({3, 3}), IsOk());
  ASSERT_THAT(stream->End(), IsOk());
  const auto with_packs = *second_->ResumeStream(spec, *stream->Save());
  EXPECT_EQ(stream->Take()->size(), 1u);
  const auto without = *second_->ResumeStream(spec, *stream->Save());
  for (PackStream* each : {with_packs.get(), without.get()}) {
    EXPECT_THAT(each->Add({1}),
                StatusIs(absl::StatusCode::kFailedPrecondition, testing::_));
    EXPECT_THAT(each->End(), IsOk());
  }
  EXPECT_THAT(with_packs->Take()->ordinals, ElementsAre(0, 1));
  EXPECT_TRUE(without->Take()->empty());
  EXPECT_EQ(without->position()->read_from, 2u);
}

TEST_P(ResumeTest, StatesThatAreRefused) {
  const PackSpec spec = MakeSpec(10, 4);
  const auto stream = *first_->OpenStream(spec);
  ASSERT_THAT(stream->Add({3, 4, 5}), IsOk());
  const std::string state = *stream->Save();
  const auto is_wrong = [](const std::string& text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(second_->ResumeStream(MakeSpec(11, 4), state),
              is_wrong("another spec"));
  EXPECT_THAT(second_->ResumeStream(MakeSpec(0, 4), state),
              is_wrong("capacity_tokens"));
  EXPECT_THAT(second_->ResumeStream(spec, ""), is_wrong("damaged"));
  for (size_t i = 0; i < state.size(); ++i) {
    std::string damaged = state;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_THAT(second_->ResumeStream(spec, damaged), is_wrong("damaged"));
  }
  EXPECT_THAT(second_->OpenStream(spec, std::string(129, 'x')),
              is_wrong("stream_id has 129 bytes"));
}

TEST_P(ResumeTest, FlushAfter) {
  for (const bool remote : {std::get<0>(GetParam()), std::get<1>(GetParam())}) {
    ClientOptions options;
    if (remote) options.target = server_->addresses()[0];
    options.flush_after = absl::Milliseconds(1);
    const auto stream = *(*Client::Create(options))->OpenStream(MakeSpec(9, 9));
    ASSERT_THAT(stream->Add({4, 5}), IsOk());
    const absl::Time limit = absl::Now() + kLong;
    Packs packs;
    while (packs.empty() && absl::Now() < limit) {
      packs = *stream->Take();
      std::this_thread::yield();
    }
    EXPECT_THAT(packs.ordinals, ElementsAre(0, 1));
  }
}

// --- Servers that do not last -----------------------------------------------

class SurvivalTest : public testing::Test {
 protected:
  std::string Target(const std::string& name) const {
    return "unix:" + dir_.File(name);
  }
  std::string Targets() const { return Target("a") + "," + Target("b"); }

  TempDir dir_;
  const PackSpec spec_ = MakeSpec(50, 10);
};

// Gives all of `lengths`, with a call between any two pieces, and ends.
Packs PackWith(PackStream* stream, const std::vector<uint32_t>& lengths,
               const std::function<void(size_t piece)>& between) {
  Packs packs;
  size_t piece = 0;
  for (absl::Span<const uint32_t> rest = lengths; !rest.empty(); ++piece) {
    between(piece);
    EXPECT_THAT(stream->Add(rest.subspan(0, 100)), IsOk());
    rest.remove_prefix(std::min<size_t>(rest.size(), 100));
    packs.Append(*stream->Take());
  }
  EXPECT_THAT(stream->End(), IsOk());
  packs.Append(*stream->Take());
  return packs;
}

TEST_F(SurvivalTest, AServerThatRestartsAgainAndAgain) {
  std::mt19937 random(2);
  const std::vector<uint32_t> lengths = RandomLengths(20000, 50, &random);
  std::unique_ptr<Server> server = StartServer(Target("a"));
  const auto stream = *MakeClient(Target("a"))->OpenStream(spec_);
  const Packs packs = PackWith(stream.get(), lengths, [&](size_t piece) {
    if (piece % 10 != 9) return;
    if (piece % 20 == 9) {
      EXPECT_THAT(stream->Wait(), IsOk());
    }
    server->Stop(absl::ZeroDuration());
    server.reset();
    server = StartServer(Target("a"));
  });
  EXPECT_TRUE(packs == *Plan(lengths, spec_));
}

TEST_F(SurvivalTest, ServersThatTakeTurns) {
  std::mt19937 random(3);
  const std::vector<uint32_t> lengths = RandomLengths(20000, 50, &random);
  std::unique_ptr<Server> a = StartServer(Target("a"));
  std::unique_ptr<Server> b;
  const auto stream = *MakeClient(Targets())->OpenStream(spec_);
  const Packs packs = PackWith(stream.get(), lengths, [&](size_t piece) {
    if (piece % 20 != 19) return;
    std::unique_ptr<Server>& living = a != nullptr ? a : b;
    std::unique_ptr<Server>& other = a != nullptr ? b : a;
    other = StartServer(Target(&other == &a ? "a" : "b"));
    living->Stop(absl::ZeroDuration());
    living.reset();
  });
  EXPECT_TRUE(packs == *Plan(lengths, spec_));
}

TEST_F(SurvivalTest, SeveralStreamsOfOneClient) {
  // Snapshots come more often than a server lasts, or nobody would get on.
  SessionLimits limits;
  limits.snapshot_sequences = 200;
  const std::unique_ptr<Client> client = MakeClient(Target("a"));
  std::unique_ptr<Server> server = StartServer(Target("a"), limits);
  std::atomic<int> running{8};
  std::vector<std::thread> threads;
  for (uint32_t seed = 0; seed < 8; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      const std::vector<uint32_t> lengths = RandomLengths(20000, 50, &random);
      const auto stream = *client->OpenStream(spec_);
      const Packs packs = PackWith(stream.get(), lengths, [](size_t) {});
      EXPECT_TRUE(packs == *Plan(lengths, spec_));
      --running;
    });
  }
  while (running > 0) {
    const uint64_t before = server->totals().sequences;
    while (running > 0 && server->totals().sequences < before + 5000) {
      std::this_thread::yield();
    }
    server->Stop(absl::ZeroDuration());
    server.reset();
    server = StartServer(Target("a"), limits);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SurvivalTest, WhatWasGivenWithoutAServerIsPackedLater) {
  std::unique_ptr<Server> server = StartServer(Target("a"));
  const auto stream = *MakeClient(Target("a"))->OpenStream(spec_);
  server.reset();
  ASSERT_THAT(stream->Add({30, 40, 20}), IsOk());
  auto end = std::async(std::launch::async, [&] { return stream->End(); });
  server = StartServer(Target("a"));
  ASSERT_THAT(end.get(), IsOk());
  EXPECT_TRUE(*stream->Take() == *Plan({30, 40, 20}, spec_));
}

// A socket that is connected to and never speaks.
class SilentListener {
 public:
  explicit SilentListener(const std::string& path)
      : listener_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)),
              0);
    EXPECT_EQ(listen(listener_, 8), 0);
  }
  ~SilentListener() { close(listener_); }

 private:
  const int listener_;
};

TEST_F(SurvivalTest, ASilentTargetIsPassedOver) {
  const SilentListener silent(dir_.File("a"));
  const std::unique_ptr<Server> server = StartServer(Target("b"));
  const std::unique_ptr<Client> client = MakeClient(Targets(), kShort);
  const auto stream = client->OpenStream(spec_);
  ASSERT_THAT(stream, IsOk());
  ASSERT_THAT((*stream)->Add({1}), IsOk());
  EXPECT_THAT((*stream)->End(), IsOk());
  EXPECT_THAT(client->Plan({1}, spec_), IsOk());
  EXPECT_THAT(client->CheckHealth(), IsOk());
}

TEST_F(SurvivalTest, AServerThatFallsSilentIsGivenUp) {
  std::promise<void> over;
  std::shared_future<void> is_over = over.get_future().share();
  const ScriptedServer first(Target("a"), [&](ScriptedServer::Call* call,
                                              const v1::PackRequest& open) {
    return ServeCall(call, open, [&](ServerSession*, auto*) {
      is_over.wait();
      return grpc::Status::OK;
    });
  });
  const std::unique_ptr<Server> second = StartServer(Target("b"));
  {
    const auto stream = *MakeClient(Targets(), kShort)->OpenStream(spec_);
    ASSERT_THAT(stream->Add(std::vector<uint32_t>(100, 25)), IsOk());
    EXPECT_THAT(stream->End(), IsOk());
    EXPECT_EQ(stream->Take()->size(), 50u);
    EXPECT_EQ(first.calls(), 1);
  }
  over.set_value();
}

TEST_F(SurvivalTest, ASilentServerIsNoticedByAnOwnerWhoOnlyTakes) {
  const ScriptedServer first(
      Target("a"), [](ScriptedServer::Call* call, const v1::PackRequest& open) {
        return ServeCall(call, open, [&](ServerSession*, auto* responses) {
          responses->clear();
          return absl::optional<grpc::Status>();
        });
      });
  const std::unique_ptr<Server> second = StartServer(Target("b"));
  // The one sequence fills a batch with its pieces, and a window.
  PackSpec spec = MakeSpec(50, 10);
  spec.overlong = Overlong::kSplit;
  const auto stream = *MakeClient(Targets(), kShort)->OpenStream(spec);
  ASSERT_THAT(stream->Add({500}), IsOk());
  Packs packs;
  for (const absl::Time limit = absl::Now() + kLong;
       packs.empty() && absl::Now() < limit; std::this_thread::yield()) {
    packs = *stream->Take();
  }
  EXPECT_EQ(packs.size(), 10u);
}

// --- What servers say -------------------------------------------------------

// A google.rpc.Status with one detail of this type, which needs no content.
std::string Details(const std::string& type) {
  google::protobuf::Any detail;
  detail.set_type_url("type.googleapis.com/" + type);
  const std::string bytes = detail.SerializeAsString();
  return absl::StrCat(
      "\x08\x08\x12\x04"
      "full\x1a",
      std::string(1, static_cast<char>(bytes.size())), bytes);
}

struct Verdict {
  grpc::Status status;
  bool is_final;
};

TEST_F(SurvivalTest, WhichCodesAreWorthARetry) {
  using grpc::StatusCode;
  const Verdict verdicts[] = {
      {{StatusCode::UNAVAILABLE, ""}, false},
      {{StatusCode::UNAVAILABLE, "", Details("google.rpc.ErrorInfo")}, false},
      {{StatusCode::DEADLINE_EXCEEDED, ""}, false},
      {{StatusCode::CANCELLED, ""}, false},
      {{StatusCode::INTERNAL, ""}, false},
      {{StatusCode::UNKNOWN, ""}, false},
      {{StatusCode::INTERNAL, "", Details("google.rpc.ErrorInfo")}, true},
      {{StatusCode::RESOURCE_EXHAUSTED, "", Details("google.rpc.RetryInfo")},
       false},
      {{StatusCode::RESOURCE_EXHAUSTED, "", Details("google.rpc.ErrorInfo")},
       true},
      {{StatusCode::RESOURCE_EXHAUSTED, ""}, true},
      {{StatusCode::RESOURCE_EXHAUSTED, "", "\xff garbage"}, true},
      {{StatusCode::ABORTED, ""}, true},
      {{StatusCode::INVALID_ARGUMENT, ""}, true},
      {{StatusCode::FAILED_PRECONDITION, ""}, true},
      {{StatusCode::OUT_OF_RANGE, ""}, true},
      {{StatusCode::PERMISSION_DENIED, ""}, true},
      {{StatusCode::UNIMPLEMENTED, ""}, true},
  };
  for (const Verdict& verdict : verdicts) {
    const int code = verdict.status.error_code();
    SCOPED_TRACE(absl::StrCat("code ", code, ", ",
                              verdict.status.error_details().size()));
    const ScriptedServer server(
        Target("a"),
        [&, first = std::make_shared<std::atomic<bool>>(true)](
            ScriptedServer::Call* call, const v1::PackRequest& open) {
          if (first->exchange(false)) return verdict.status;
          return ServeCall(call, open,
                           [](auto*, auto*) { return absl::nullopt; });
        });
    const auto stream = MakeClient(Target("a"))->OpenStream(spec_);
    if (verdict.is_final) {
      EXPECT_THAT(stream, StatusIs(static_cast<absl::StatusCode>(code),
                                   HasSubstr(Target("a"))));
      EXPECT_EQ(server.calls(), 1);
    } else {
      ASSERT_THAT(stream, IsOk());
      EXPECT_THAT((*stream)->End(), IsOk());
      EXPECT_EQ(server.calls(), 2);
    }
  }
}

// A server that says it is about to stop behind the first input.
ScriptedServer::Script Draining() {
  return [](ScriptedServer::Call* call, const v1::PackRequest& open) {
    return ServeCall(
        call, open,
        [is_first = true](ServerSession* session, auto* responses) mutable {
          if (std::exchange(is_first, false)) {
            session->Drain(/*grace_seconds=*/30, responses);
          }
          return absl::optional<grpc::Status>();
        });
  };
}

TEST_F(SurvivalTest, ADrainingServerIsLeftForAnother) {
  std::mt19937 random(4);
  const std::vector<uint32_t> lengths = RandomLengths(5000, 50, &random);
  const ScriptedServer first(Target("a"), Draining());
  const std::unique_ptr<Server> second = StartServer(Target("b"));
  const auto stream = *MakeClient(Targets())->OpenStream(spec_);
  const Packs packs = PackWith(stream.get(), lengths, [](size_t) {});
  EXPECT_TRUE(packs == *Plan(lengths, spec_));
  EXPECT_EQ(first.calls(), 1);
  EXPECT_EQ(second->totals().streams, 1u);
}

TEST_F(SurvivalTest, ADrainingServerIsStayedWithWhereThereIsNoOther) {
  std::mt19937 random(5);
  const std::vector<uint32_t> lengths = RandomLengths(5000, 50, &random);
  const ScriptedServer server(Target("a"), Draining());
  const auto stream = *MakeClient(Target("a"))->OpenStream(spec_);
  const Packs packs = PackWith(stream.get(), lengths, [](size_t) {});
  EXPECT_TRUE(packs == *Plan(lengths, spec_));
  EXPECT_EQ(server.calls(), 1);
}

TEST_F(SurvivalTest, AnIdleStreamNeedsNoConnection) {
  // Ends the call behind each answer, as a server does that waits for nobody.
  std::atomic<int> ended{0};
  const ScriptedServer server(Target("a"), [&](ScriptedServer::Call* call,
                                               const v1::PackRequest& open) {
    return ServeCall(call, open, [&](ServerSession* session, auto* responses) {
      if (session->ended()) return absl::optional<grpc::Status>();
      ++ended;
      session->AppendSnapshot(responses);
      return absl::make_optional(
          grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "idle"));
    });
  });
  ClientOptions options;
  options.target = Target("a");
  options.unavailable_for = kLong;
  const auto stream = *(*Client::Create(options))->OpenStream(spec_);
  for (int i = 1; i <= 3; ++i) {
    ASSERT_THAT(stream->Add({10, 20}), IsOk());
    ASSERT_THAT(stream->Wait(), IsOk());
    EXPECT_EQ(ended, i);
    EXPECT_EQ(server.calls(), i);
  }
  ASSERT_THAT(stream->End(), IsOk());
  EXPECT_TRUE(*stream->Take() == *Plan({10, 20, 10, 20, 10, 20}, spec_));
}

}  // namespace
}  // namespace packhouse
