// Who may have a stream, how many there may be, and how the server ends one:
// through a real server, a real channel and the generated stub.

#include <grpcpp/grpcpp.h>

#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "packhouse/plan.h"
#include "packhouse/v1/admin.grpc.pb.h"
#include "server/packer_service.h"
#include "server/plan_reactor.h"
#include "server/server.h"
#include "server/service_host.h"
#include "session/limits.h"
#include "tests/packs.h"
#include "tests/server/connect.h"
#include "tests/server/http_get.h"
#include "tests/server/pack_call.h"
#include "tests/server/standstill.h"
#include "tests/status_matchers.h"
#include "tests/temp_dir.h"

namespace packhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

// What a program reads of a refusal.
struct Details {
  std::string reason;
  std::map<std::string, std::string> metadata;
  absl::optional<double> retry_seconds;
};

Details DetailsOf(const grpc::Status& status) {
  google::rpc::Status message;
  EXPECT_TRUE(message.ParseFromString(status.error_details()));
  EXPECT_EQ(message.code(), status.error_code());
  EXPECT_EQ(message.message(), status.error_message());
  Details details;
  for (const auto& any : message.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::RetryInfo retry;
    if (any.UnpackTo(&info)) {
      EXPECT_EQ(info.domain(), "packhouse");
      details.reason = info.reason();
      details.metadata.insert(info.metadata().begin(), info.metadata().end());
    } else if (any.UnpackTo(&retry)) {
      details.retry_seconds =
          static_cast<double>(retry.retry_delay().seconds()) +
          retry.retry_delay().nanos() * 1e-9;
    } else {
      ADD_FAILURE() << any.type_url();
    }
  }
  EXPECT_EQ(details.retry_seconds.has_value(),
            details.reason == "SERVER_FULL" || details.reason == "STOPPING");
  return details;
}

// The details with which a call ends; its responses are not looked at.
Details EndOf(PackCall* call, absl::StatusCode code) {
  Response response;
  while (call->Read(&response)) {
  }
  EXPECT_THAT(call->Finish(), StatusIs(code, testing::_));
  return DetailsOf(call->end());
}

class StreamLifeTest : public testing::Test {
 protected:
  void Start(ServerOptions options = {}) {
    options.listen = {"unix:" + dir_.File("socket")};
    options.http = "127.0.0.1:0";
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    channel_ = Connect(server_->addresses()[0]);
  }

  std::unique_ptr<PackCall> NewCall() const {
    return std::make_unique<PackCall>(channel_);
  }

  static Open Named(const std::string& id, uint64_t incarnation) {
    Open open = OpenWith(MakeSpec(8, 4));
    open.stream_id = id;
    open.incarnation = incarnation;
    return open;
  }

  v1::GetStatusResponse GetStatus(const v1::GetStatusRequest& request = {}) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kLimit));
    v1::GetStatusResponse response;
    const grpc::Status status = v1::AdminService::NewStub(channel_)->GetStatus(
        &context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  void AwaitStreams(int64_t count) {
    const absl::Time limit = absl::Now() + kLimit;
    while (GetStatus().server().stream_count() != count) {
      ASSERT_LT(absl::Now(), limit);
    }
  }

  bool HasMetric(const std::string& line) const {
    return HttpGet(server_->http_address(), "/metrics")
               .find("\n" + line + "\n") != std::string::npos;
  }

  TempDir dir_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

// ---- Fencing

TEST_F(StreamLifeTest, TheLargerIncarnationHasTheStream) {
  Start();
  const auto first = NewCall();
  ASSERT_TRUE(first->SendOpen(Named("a", 7)));
  for (const uint64_t incarnation : {0, 6, 7}) {
    const auto late = NewCall();
    EXPECT_FALSE(late->SendOpen(Named("a", incarnation)));
    const Details details = EndOf(late.get(), absl::StatusCode::kAborted);
    EXPECT_EQ(details.reason, "FENCED");
    EXPECT_THAT(
        details.metadata,
        UnorderedElementsAre(Pair("incarnation", std::to_string(incarnation)),
                             Pair("winner", "7")));
  }
  const auto second = NewCall();
  ASSERT_TRUE(second->SendOpen(Named("a", 9)));
  const Details details = EndOf(first.get(), absl::StatusCode::kAborted);
  EXPECT_EQ(details.reason, "FENCED");
  EXPECT_EQ(details.metadata.at("winner"), "9");
  EXPECT_THAT(std::string(first->end().error_message()),
              AllOf(HasSubstr("7"), HasSubstr("9")));

  // The winner goes on; and once it has ended, the name is free again.
  ASSERT_TRUE(second->Send(Batch{1, {8}}));
  ASSERT_TRUE(second->Send(End{2}));
  Packs packs;
  second->ReadAll(&packs);
  EXPECT_EQ(packs.size(), 1);
  EXPECT_THAT(second->Finish(), IsOk());
  AwaitStreams(0);
  EXPECT_TRUE(NewCall()->SendOpen(Named("a", 1)));
}

TEST_F(StreamLifeTest, OtherNamesAndNoNamesAreLeftAlone) {
  Start();
  const auto first = NewCall();
  const auto second = NewCall();
  const auto third = NewCall();
  const auto fourth = NewCall();
  EXPECT_TRUE(first->SendOpen(Named("", 1)));
  EXPECT_TRUE(second->SendOpen(Named("", 1)));
  EXPECT_TRUE(third->SendOpen(Named("a", 1)));
  EXPECT_TRUE(fourth->SendOpen(Named("b", 1)));
  EXPECT_EQ(GetStatus().streams_size(), 4);
}

// An `open` that is refused for what it says takes nothing from anybody.
TEST_F(StreamLifeTest, AWrongOpenFencesNobody) {
  Start();
  const auto first = NewCall();
  ASSERT_TRUE(first->SendOpen(Named("a", 1)));
  Open wrong = Named("a", 2);
  wrong.spec.capacity_tokens = 0;
  const auto second = NewCall();
  EXPECT_FALSE(second->SendOpen(wrong));
  EXPECT_EQ(EndOf(second.get(), absl::StatusCode::kInvalidArgument).reason,
            "SPEC_INVALID");
  EXPECT_TRUE(first->Send(Batch{1, {8}}));
  Response response;
  EXPECT_TRUE(first->Read(&response));
}

// ---- Bounds

TEST_F(StreamLifeTest, MoreStreamsThanMayBeAreRefused) {
  ServerOptions options;
  options.max_streams = 2;
  Start(options);
  auto first = NewCall();
  const auto second = NewCall();
  ASSERT_TRUE(first->SendOpen(Named("", 0)));
  ASSERT_TRUE(second->SendOpen(Named("a", 1)));
  for (int i = 0; i < 3; ++i) {
    const auto third = NewCall();
    EXPECT_FALSE(third->SendOpen(Named("", 0)));
    const Details details =
        EndOf(third.get(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(details.reason, "SERVER_FULL");
    EXPECT_EQ(details.metadata.at("limit"), "2");
    EXPECT_EQ(details.metadata.at("value"), "3");
    EXPECT_EQ(details.retry_seconds, 1);
  }
  // One that comes back for its own stream gets in: its old connection goes.
  const auto again = NewCall();
  EXPECT_FALSE(again->SendOpen(Named("a", 2)));
  EXPECT_EQ(EndOf(second.get(), absl::StatusCode::kAborted).reason, "FENCED");
  AwaitStreams(1);
  EXPECT_TRUE(NewCall()->SendOpen(Named("a", 2)));
}

TEST_F(StreamLifeTest, MoreMemoryThanMayBeIsRefused) {
  ServerOptions options;
  const PackSpec small = MakeSpec(8, 16);
  const PackSpec large = MakeSpec(8, 200000);
  const uint64_t small_bytes = StreamMemoryBound(small, options.limits);
  const uint64_t large_bytes = StreamMemoryBound(large, options.limits);
  options.max_memory_bytes = large_bytes + 2 * small_bytes - 1;
  Start(options);
  auto first = NewCall();
  ASSERT_TRUE(first->SendOpen(OpenWith(large)));
  const auto second = NewCall();
  ASSERT_TRUE(second->SendOpen(OpenWith(small)));
  v1::GetStatusResponse status = GetStatus();
  EXPECT_EQ(status.server().committed_bytes(), large_bytes + small_bytes);
  EXPECT_EQ(status.streams(0).memory_bound_bytes(), large_bytes);
  const auto third = NewCall();
  EXPECT_FALSE(third->SendOpen(OpenWith(small)));
  const Details details =
      EndOf(third.get(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(details.reason, "SERVER_FULL");
  EXPECT_EQ(details.metadata.at("limit"),
            std::to_string(options.max_memory_bytes));
  EXPECT_EQ(details.metadata.at("value"),
            std::to_string(large_bytes + 2 * small_bytes));
  EXPECT_EQ(details.retry_seconds, 1);
  // What is given back can be had.
  first.reset();
  const absl::Time limit = absl::Now() + kLimit;
  while (GetStatus().server().committed_bytes() !=
         static_cast<int64_t>(small_bytes)) {
    ASSERT_LT(absl::Now(), limit);
  }
  const auto fourth = NewCall();
  EXPECT_TRUE(fourth->SendOpen(OpenWith(small)));
  EXPECT_TRUE(HasMetric("packhouse_memory_limit_bytes " +
                        std::to_string(options.max_memory_bytes)));
}

// Not as a full server does: it would never be less full.
TEST_F(StreamLifeTest, AStreamBeyondAllMemoryIsRefusedForGood) {
  ServerOptions options;
  const PackSpec large = MakeSpec(8, 200000);
  const uint64_t bytes = StreamMemoryBound(large, options.limits);
  options.max_memory_bytes = bytes - 1;
  Start(options);
  const auto call = NewCall();
  EXPECT_FALSE(call->SendOpen(OpenWith(large)));
  const Details details =
      EndOf(call.get(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(details.reason, "LIMIT_EXCEEDED");
  EXPECT_EQ(details.metadata.at("value"), std::to_string(bytes));
  EXPECT_EQ(details.metadata.at("limit"), std::to_string(bytes - 1));
  EXPECT_THAT(std::string(call->end().error_message()),
              HasSubstr("--max-memory"));
}

// A client that never reads holds up itself and nobody else.
TEST_F(StreamLifeTest, AStuckReaderDoesNotHoldUpOthers) {
  ServerOptions options;
  options.packing_threads = 1;
  Start(options);
  const auto stuck =
      std::make_unique<PackCall>(Connect(server_->addresses()[0]));
  ASSERT_TRUE(stuck->SendOpen(OpenWith(MakeSpec(8, 1))));
  std::thread writer([&] {
    const std::vector<uint32_t> lengths(65536, 8);
    for (uint64_t number = 1; stuck->Send(Batch{number, lengths}); ++number) {
    }
  });
  AwaitStandstill(*server_);
  const v1::StreamStatus status = GetStatus().streams(0);
  EXPECT_GT(status.queued_units(), kMaxQueuedUnits);
  EXPECT_LE(status.queued_units(), kMaxQueuedUnits + 65536 + 8 * 1024);
  EXPECT_FALSE(status.busy());
  for (int i = 0; i < 20; ++i) {
    const auto other = NewCall();
    ASSERT_TRUE(other->SendOpen(OpenWith(MakeSpec(512, 16))));
    ASSERT_TRUE(other->Send(Batch{1, std::vector<uint32_t>(65536, 100)}));
    ASSERT_TRUE(other->Send(End{2}));
    Packs packs;
    other->ReadAll(&packs);
    EXPECT_THAT(other->Finish(), IsOk());
    EXPECT_EQ(packs.ordinals.size(), 65536);
  }
  stuck->Cancel();
  writer.join();
  Packs packs;
  stuck->ReadAll(&packs);
  EXPECT_FALSE(stuck->Finish().ok());
}

// Calls take no threads: however many are open, the next is answered.
TEST_F(StreamLifeTest, ManyIdleStreamsBesideOneThatIsNot) {
  Start();
  std::vector<std::unique_ptr<PackCall>> idle;
  for (int i = 0; i < 200; ++i) {
    idle.push_back(NewCall());
    ASSERT_TRUE(idle.back()->SendOpen(Named(std::to_string(i), 1)));
  }
  const auto call = NewCall();
  ASSERT_TRUE(call->SendOpen(OpenWith(MakeSpec(8, 4))));
  ASSERT_TRUE(call->Send(Batch{1, {8, 8}}));
  ASSERT_TRUE(call->Send(End{2}));
  Packs packs;
  call->ReadAll(&packs);
  EXPECT_THAT(call->Finish(), IsOk());
  EXPECT_EQ(packs.size(), 2);
  AwaitStreams(200);  // it leaves a moment after its client has heard the end
  // Each of them still works, all at once.
  for (const auto& each : idle) ASSERT_TRUE(each->Send(Batch{1, {8, 3}}));
  for (const auto& each : idle) {
    Response response;
    ASSERT_TRUE(each->Read(&response));
  }
  idle.clear();
  const absl::Time limit = absl::Now() + kLimit;
  while (GetStatus().server().committed_bytes() != 0) {
    ASSERT_LT(absl::Now(), limit);
  }
}

// ---- Idle

TEST_F(StreamLifeTest, AnIdleStreamEndsBehindASnapshot) {
  ServerOptions options;
  options.idle_timeout = absl::Milliseconds(50);
  Start(options);
  const auto call = NewCall();
  ASSERT_TRUE(call->SendOpen(OpenWith(MakeSpec(8, 4))));
  ASSERT_TRUE(call->Send(Batch{1, {3, 4}}));
  absl::optional<Snapshot> last;
  Response response;
  while (call->Read(&response)) {
    last.reset();
    if (const auto* snapshot = std::get_if<Snapshot>(&response.event)) {
      last = *snapshot;
    }
  }
  EXPECT_THAT(call->Finish(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("50ms")));
  EXPECT_EQ(DetailsOf(call->end()).reason, "IDLE");
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->received_number, 1);
  EXPECT_EQ(last->sequences, 2);

  // It goes on where it was.
  Open open = OpenWith(MakeSpec(8, 4));
  open.resume = Resume{last->state, last->packs};
  const auto again = NewCall();
  ASSERT_TRUE(again->SendOpen(open));
  ASSERT_TRUE(again->Send(Batch{2, {5}}));
  ASSERT_TRUE(again->Send(End{3}));
  Packs packs;
  again->ReadAll(&packs);
  EXPECT_THAT(again->Finish(), IsOk());
  EXPECT_TRUE(packs == *packhouse::Plan({3, 4, 5}, MakeSpec(8, 4)));
  EXPECT_TRUE(HasMetric("packhouse_resumed_streams_total 1"));
  EXPECT_TRUE(HasMetric("packhouse_resumed_units_total 2"));
}

TEST_F(StreamLifeTest, ACallWithoutOpenIsIdleToo) {
  ServerOptions options;
  options.idle_timeout = absl::Milliseconds(50);
  Start(options);
  const auto silent = NewCall();
  EXPECT_EQ(EndOf(silent.get(), absl::StatusCode::kDeadlineExceeded).reason,
            "IDLE");
}

TEST_F(StreamLifeTest, CallsWithoutOpenKeepNobodyOut) {
  ServerOptions options;
  options.max_streams = 1;
  Start(options);
  const auto first = NewCall();
  const auto second = NewCall();
  AwaitStreams(2);
  const auto opened = NewCall();
  EXPECT_TRUE(opened->SendOpen(OpenWith(MakeSpec(8, 4))));
}

TEST_F(StreamLifeTest, ACallWithoutOpenEnds) {
  ServerOptions options;
  options.open_timeout = absl::Milliseconds(50);
  options.idle_timeout = absl::InfiniteDuration();
  Start(options);
  const auto opened = NewCall();
  ASSERT_TRUE(opened->SendOpen(OpenWith(MakeSpec(8, 4))));
  const auto silent = NewCall();
  EXPECT_EQ(EndOf(silent.get(), absl::StatusCode::kDeadlineExceeded).reason,
            "IDLE");
  EXPECT_TRUE(opened->Send(Batch{1, {8}}));
  Response response;
  EXPECT_TRUE(opened->Read(&response));
}

// ---- Stop

// Reads up to the drain message; returns the snapshot before it.
absl::optional<Snapshot> ReadDrain(PackCall* call, double grace_seconds) {
  absl::optional<Snapshot> snapshot;
  Response response;
  while (call->Read(&response)) {
    if (const auto* found = std::get_if<Snapshot>(&response.event)) {
      snapshot = *found;
    }
    if (const auto* drain = std::get_if<Drain>(&response.event)) {
      EXPECT_EQ(drain->grace_seconds, grace_seconds);
      return snapshot;
    }
  }
  ADD_FAILURE() << "no drain message";
  return absl::nullopt;
}

TEST_F(StreamLifeTest, DrainedStreamsAreNotCut) {
  Start();
  const auto leaves = NewCall();
  const auto closes = NewCall();
  const auto ends = NewCall();
  for (PackCall* call : {leaves.get(), closes.get(), ends.get()}) {
    ASSERT_TRUE(call->SendOpen(OpenWith(MakeSpec(8, 4))));
    ASSERT_TRUE(call->Send(Batch{1, {3, 4, 5}}));
    Response response;
    ASSERT_TRUE(call->Read(&response));
  }
  std::future<void> stopped =
      std::async(std::launch::async, [this] { server_->Stop(kLimit); });
  for (PackCall* call : {leaves.get(), closes.get(), ends.get()}) {
    const absl::optional<Snapshot> snapshot =
        ReadDrain(call, absl::ToDoubleSeconds(kLimit));
    ASSERT_TRUE(snapshot.has_value());
    EXPECT_EQ(snapshot->received_number, 1);
    EXPECT_EQ(snapshot->sequences, 3);
  }
  leaves->Cancel();
  closes->WritesDone();
  EXPECT_EQ(EndOf(closes.get(), absl::StatusCode::kUnavailable).reason,
            "STOPPING");
  // What is not left goes on as ever.
  ASSERT_TRUE(ends->Send(Batch{2, {8}}));
  ASSERT_TRUE(ends->Send(End{3}));
  Packs packs;
  ends->ReadAll(&packs);
  EXPECT_THAT(ends->Finish(), IsOk());
  EXPECT_EQ(packs.ordinals.size(), 4);
  stopped.get();
  EXPECT_EQ(server_->totals().drained_streams, 2);
  EXPECT_EQ(server_->totals().cut_streams, 0);
}

TEST_F(StreamLifeTest, WhatIsLeftAtTheEndOfTheGraceIsCut) {
  Start();
  const auto call = NewCall();
  ASSERT_TRUE(call->SendOpen(OpenWith(MakeSpec(8, 4))));
  std::future<void> stopped = std::async(
      std::launch::async, [this] { server_->Stop(absl::Milliseconds(100)); });
  EXPECT_TRUE(ReadDrain(call.get(), 0.1).has_value());
  const Details details = EndOf(call.get(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(details.reason, "STOPPING");
  EXPECT_EQ(details.retry_seconds, 0);
  stopped.get();
  EXPECT_EQ(server_->totals().drained_streams, 0);
  EXPECT_EQ(server_->totals().cut_streams, 1);
}

// ---- Reasons

// Every reason that a stream may end with for what its client sends; the others
// are in the tests of what causes them.
TEST_F(StreamLifeTest, RefusalsSayWhy) {
  ServerOptions options;
  options.limits.max_window_sequences = 1000;
  Start(options);
  const Open open = OpenWith(MakeSpec(8, 4));
  Open version = open;
  version.protocol_version = 9;
  Open state = open;
  state.resume = Resume{"nonsense", 0};
  Open name = open;
  name.stream_id.assign(200, 'x');
  struct Case {
    std::vector<Request> requests;
    absl::StatusCode code;
    std::string reason;
  };
  const std::vector<Case> cases = {
      {{OpenWith(MakeSpec(0, 4))},
       absl::StatusCode::kInvalidArgument,
       "SPEC_INVALID"},
      {{state}, absl::StatusCode::kInvalidArgument, "STATE_INVALID"},
      {{Batch{1, {3}}},
       absl::StatusCode::kFailedPrecondition,
       "PROTOCOL_VIOLATION"},
      {{open, open},
       absl::StatusCode::kFailedPrecondition,
       "PROTOCOL_VIOLATION"},
      {{std::monostate()},
       absl::StatusCode::kFailedPrecondition,
       "PROTOCOL_VIOLATION"},
      {{version}, absl::StatusCode::kFailedPrecondition, "VERSION_UNKNOWN"},
      {{open, Batch{3, {3}}}, absl::StatusCode::kOutOfRange, "INPUT_MISSING"},
      {{open, Batch{0, {3}}},
       absl::StatusCode::kFailedPrecondition,
       "PROTOCOL_VIOLATION"},
      {{OpenWith(MakeSpec(8, 1001))},
       absl::StatusCode::kResourceExhausted,
       "LIMIT_EXCEEDED"},
      {{name}, absl::StatusCode::kResourceExhausted, "LIMIT_EXCEEDED"},
      {{open, Batch{1, std::vector<uint32_t>(kMaxBatchSequences + 1, 1)}},
       absl::StatusCode::kResourceExhausted,
       "LIMIT_EXCEEDED"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.reason);
    const auto call = NewCall();
    for (const Request& request : each.requests) call->Send(request);
    const Details details = EndOf(call.get(), each.code);
    EXPECT_EQ(details.reason, each.reason);
    if (each.reason == "LIMIT_EXCEEDED" || each.reason == "VERSION_UNKNOWN") {
      EXPECT_EQ(details.metadata.count("limit"), 1);
      EXPECT_EQ(details.metadata.count("value"), 1);
    }
  }
  const auto closed = NewCall();
  ASSERT_TRUE(closed->SendOpen(open));
  closed->WritesDone();
  EXPECT_EQ(EndOf(closed.get(), absl::StatusCode::kFailedPrecondition).reason,
            "PROTOCOL_VIOLATION");
}

// ---- Plan

// A service whose pool the test can keep busy.
class PlanTest : public testing::Test {
 protected:
  PlanTest()
      : memory_(kMemory),
        pool_(1, 2),
        host_(Options(), &pool_, &memory_, &metrics_),
        service_(&host_) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.AddListeningPort("unix:" + dir_.File("socket"),
                             grpc::InsecureServerCredentials());
    server_ = builder.BuildAndStart();
    stub_ = v1::PackerService::NewStub(Connect("unix:" + dir_.File("socket")));
  }
  ~PlanTest() override {
    if (!released_.HasBeenNotified()) released_.Notify();
    server_->Shutdown();
  }

  static ServerOptions Options() {
    ServerOptions options;
    options.max_plan_sequences = 1000;
    return options;
  }

  // One call, on a thread of its own.
  struct Call {
    grpc::ClientContext context;
    std::future<grpc::Status> status;
  };
  std::unique_ptr<Call> Plan(int sequences, absl::Duration limit = kLimit,
                             const PackSpec& spec = MakeSpec(512, 100),
                             uint32_t length = 100) {
    auto call = std::make_unique<Call>();
    call->context.set_deadline(absl::ToChronoTime(absl::Now() + limit));
    call->status =
        std::async(std::launch::async,
                   [this, context = &call->context, sequences, spec, length] {
                     v1::PlanRequest request;
                     Encode(spec, request.mutable_spec());
                     request.mutable_lengths()->Resize(sequences, length);
                     v1::PlanResponse response;
                     return stub_->Plan(context, request, &response);
                   });
    return call;
  }

  // Keeps the pool's thread busy until released_.
  void Occupy() {
    absl::Notification begun;
    pool_.Submit([&] {
      begun.Notify();
      released_.WaitForNotification();
    });
    begun.WaitForNotification();
  }

  void AwaitQueued(size_t count) const {
    const absl::Time limit = absl::Now() + kLimit;
    while (pool_.load().queued != count) {
      ASSERT_LT(absl::Now(), limit);
      std::this_thread::yield();
    }
  }

  static constexpr uint64_t kMemory = uint64_t{1} << 30;

  TempDir dir_;
  absl::Notification released_;
  Metrics metrics_;
  MemoryBudget memory_;
  WorkPool pool_;
  ServiceHost host_;
  PackerServiceImpl service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::PackerService::Stub> stub_;
};

TEST_F(PlanTest, WaitsForItsTurn) {
  Occupy();
  const auto first = Plan(1000);
  AwaitQueued(1);
  EXPECT_EQ(memory_.committed(), PlanMemoryBound(1000));
  const auto second = Plan(10);
  AwaitQueued(2);
  // Two wait already.
  const auto third = Plan(10);
  const grpc::Status refused = third->status.get();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const Details details = DetailsOf(refused);
  EXPECT_EQ(details.reason, "SERVER_FULL");
  EXPECT_EQ(details.metadata.at("limit"), "2");
  released_.Notify();
  EXPECT_TRUE(first->status.get().ok());
  EXPECT_TRUE(second->status.get().ok());
}

TEST_F(PlanTest, AWaitingPlanEndsWithItsCall) {
  Occupy();
  const auto late = Plan(1000, absl::Milliseconds(50));
  EXPECT_EQ(late->status.get().error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  AwaitQueued(0);
  const auto cancelled = Plan(1000);
  AwaitQueued(1);
  cancelled->context.TryCancel();
  EXPECT_EQ(cancelled->status.get().error_code(), grpc::StatusCode::CANCELLED);
  AwaitQueued(0);
  // Neither holds memory, though the pool is still busy.
  const absl::Time limit = absl::Now() + kLimit;
  while (memory_.committed() != 0) {
    ASSERT_LT(absl::Now(), limit);
    std::this_thread::yield();
  }
  const auto next = Plan(1000);
  AwaitQueued(1);
  released_.Notify();
  EXPECT_TRUE(next->status.get().ok());
}

TEST_F(PlanTest, NeedsMemory) {
  const auto share = memory_.Take(kMemory - PlanMemoryBound(10));
  ASSERT_TRUE(share.has_value());
  EXPECT_TRUE(Plan(10)->status.get().ok());
  const grpc::Status refused = Plan(11)->status.get();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailsOf(refused).reason, "SERVER_FULL");
}

TEST_F(PlanTest, RefusalsSayWhy) {
  const auto reason = [&](const std::unique_ptr<Call>& call, int code) {
    const grpc::Status status = call->status.get();
    EXPECT_EQ(status.error_code(), code);
    return DetailsOf(status).reason;
  };
  EXPECT_EQ(reason(Plan(1, kLimit, MakeSpec(0, 1)),
                   grpc::StatusCode::INVALID_ARGUMENT),
            "SPEC_INVALID");
  EXPECT_EQ(reason(Plan(1, kLimit, MakeSpec(8, 1), 9),
                   grpc::StatusCode::INVALID_ARGUMENT),
            "LENGTHS_INVALID");
  EXPECT_EQ(reason(Plan(1001), grpc::StatusCode::RESOURCE_EXHAUSTED),
            "LIMIT_EXCEEDED");
  PackSpec slow = MakeSpec(8, 1);
  slow.algorithm = "best";
  slow.budget_seconds = kMaxPlanBudgetSeconds + 1;
  EXPECT_EQ(
      reason(Plan(1, kLimit, slow, 1), grpc::StatusCode::RESOURCE_EXHAUSTED),
      "LIMIT_EXCEEDED");
  PackSpec unbounded = MakeSpec(8, 1);
  unbounded.algorithm = "nnlshp";
  EXPECT_EQ(
      reason(Plan(1, kLimit, unbounded, 1), grpc::StatusCode::INVALID_ARGUMENT),
      "SPEC_INVALID");
  host_.streams.Close();
  EXPECT_EQ(reason(Plan(1), grpc::StatusCode::UNAVAILABLE), "STOPPING");
}

// ---- Status

TEST_F(StreamLifeTest, StatusOfTheServerAndItsStreams) {
  ServerOptions options;
  options.max_streams = 10;
  options.packing_threads = 3;
  Start(options);
  v1::GetStatusResponse status = GetStatus();
  EXPECT_EQ(status.streams_size(), 0);
  EXPECT_EQ(status.server().version(), ServerVersion());
  EXPECT_EQ(status.server().pid(), getpid());
  EXPECT_EQ(status.server().packing_threads(), 3);
  EXPECT_EQ(status.server().max_streams(), 10);
  EXPECT_GT(status.server().resident_bytes(), 1 << 20);
  EXPECT_GT(status.server().cpu_seconds(), 0);
  EXPECT_FALSE(status.server().draining());

  const auto call = NewCall();
  Open open = Named("name", 5);
  ASSERT_TRUE(call->SendOpen(open));
  ASSERT_TRUE(call->Send(Batch{1, {8, 8, 8, 8, 3}}));
  Response response;
  do {
    ASSERT_TRUE(call->Read(&response));
  } while (!response.credit.has_value() ||
           response.credit->received_number == 0);
  status = GetStatus();
  ASSERT_EQ(status.streams_size(), 1);
  const v1::StreamStatus& stream = status.streams(0);
  EXPECT_EQ(stream.stream_id(), "name");
  EXPECT_EQ(stream.incarnation(), 5);
  EXPECT_THAT(stream.peer(), HasSubstr("unix"));
  EXPECT_EQ(Decode(stream.spec()), open.spec);
  EXPECT_EQ(stream.received_number(), 1);
  EXPECT_EQ(stream.max_number(), 1 + options.limits.credit_inputs);
  EXPECT_EQ(stream.max_sequences(), 5 + options.limits.credit_sequences);
  EXPECT_EQ(stream.sequences(), 5);
  EXPECT_EQ(stream.packs(), 4);
  EXPECT_EQ(stream.pending_units(), 1);
  EXPECT_GE(stream.age_seconds(), stream.idle_seconds());
  EXPECT_GE(stream.idle_seconds(), 0);
  EXPECT_FALSE(stream.resumed());
  EXPECT_EQ(stream.memory_bound_bytes(),
            StreamMemoryBound(open.spec, options.limits));
  EXPECT_EQ(status.server().committed_bytes(), stream.memory_bound_bytes());
}

TEST_F(StreamLifeTest, StatusComesInPages) {
  Start();
  std::vector<std::unique_ptr<PackCall>> calls;
  for (int i = 0; i < 7; ++i) {
    calls.push_back(NewCall());
    ASSERT_TRUE(calls.back()->SendOpen(Named("s" + std::to_string(i), 1)));
  }
  v1::GetStatusRequest request;
  request.set_page_size(3);
  std::vector<std::string> ids;
  std::vector<int> sizes;
  do {
    const v1::GetStatusResponse page = GetStatus(request);
    sizes.push_back(page.streams_size());
    for (const v1::StreamStatus& each : page.streams()) {
      ids.push_back(each.stream_id());
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(sizes, testing::ElementsAre(3, 3, 1));
  EXPECT_THAT(ids, testing::UnorderedElementsAre("s0", "s1", "s2", "s3", "s4",
                                                 "s5", "s6"));

  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kLimit));
  request.set_page_token("nonsense");
  v1::GetStatusResponse response;
  EXPECT_EQ(v1::AdminService::NewStub(channel_)
                ->GetStatus(&context, request, &response)
                .error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  grpc::ClientContext other;
  other.set_deadline(absl::ToChronoTime(absl::Now() + kLimit));
  request.clear_page_token();
  request.set_page_size(-1);
  EXPECT_EQ(v1::AdminService::NewStub(channel_)
                ->GetStatus(&other, request, &response)
                .error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace packhouse
