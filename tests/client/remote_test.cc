// Servers that are absent, late, silent, stopped or wrong: every call of the
// client ends with a clear error within its limit.

#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/client.h"
#include "packhouse/plan.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "session/messages.h"
#include "tests/client/scripted_server.h"
#include "tests/client/test_server.h"
#include "tests/packs.h"
#include "tests/status_matchers.h"
#include "tests/temp_dir.h"

namespace packhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// For waits that are to reach their limit, and for those that are not to.
constexpr absl::Duration kShort = absl::Seconds(1);
constexpr absl::Duration kLong = absl::Seconds(60);

PackSpec SmallSpec() { return MakeSpec(10, 2); }

class RemoteClientTest : public testing::Test {
 protected:
  std::string target() const { return "unix:" + dir_.File("socket"); }

  // A client that tries each server once, or as long as it is told.
  std::unique_ptr<Client> MakeClient(
      absl::Duration answer_within,
      absl::Duration unavailable_for = absl::ZeroDuration()) const {
    ClientOptions options;
    options.target = target();
    options.batch_sequences = 2;
    options.answer_within = answer_within;
    options.unavailable_for = unavailable_for;
    return *Client::Create(options);
  }

  TempDir dir_;
};

TEST_F(RemoteClientTest, AbsentServer) {
  const std::unique_ptr<Client> client = MakeClient(kShort);
  const auto is_unavailable =
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr(target()));
  EXPECT_THAT(client->CheckHealth(), is_unavailable);
  EXPECT_THAT(client->OpenStream(SmallSpec()), is_unavailable);
  EXPECT_THAT(client->Plan({1}, SmallSpec()), is_unavailable);
}

// The last cause, how long it was tried for, and all that was tried.
TEST_F(RemoteClientTest, NobodyAnswers) {
  ClientOptions options;
  options.target = absl::StrCat(target(), ",unix:", dir_.File("other"));
  options.unavailable_for = kShort;
  const std::unique_ptr<Client> client = *Client::Create(options);
  const auto names_all =
      StatusIs(absl::StatusCode::kUnavailable,
               AllOf(HasSubstr("No such file or directory"),
                     HasSubstr("no server answered for 1s"),
                     HasSubstr(target()), HasSubstr(dir_.File("other"))));
  EXPECT_THAT(client->OpenStream(SmallSpec()), names_all);
  EXPECT_THAT(client->Plan({1}, SmallSpec()), names_all);
  EXPECT_THAT(client->CheckHealth(),
              StatusIs(absl::StatusCode::kUnavailable, testing::_));
}

TEST_F(RemoteClientTest, AServerThatStartsLaterIsWaitedFor) {
  const std::unique_ptr<Client> client = MakeClient(kLong, kLong);
  ASSERT_THAT(client->CheckHealth(),
              StatusIs(absl::StatusCode::kUnavailable, testing::_));
  auto stream = std::async(std::launch::async,
                           [&] { return client->OpenStream(SmallSpec()); });
  auto plan = std::async(std::launch::async,
                         [&] { return client->Plan({1}, SmallSpec()); });
  const std::unique_ptr<Server> server = StartServer(target());
  ASSERT_THAT(stream.get(), IsOk());
  ASSERT_THAT(plan.get(), IsOk());
  EXPECT_THAT(client->CheckHealth(), IsOk());
}

TEST_F(RemoteClientTest, AServerThatNeverAccepts) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = dir_.File("socket");
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)),
            0);
  ASSERT_EQ(listen(listener, 8), 0);

  const std::unique_ptr<Client> client = MakeClient(kShort);
  const auto is_late =
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               AllOf(HasSubstr(target()), HasSubstr("within 1s")));
  EXPECT_THAT(client->OpenStream(SmallSpec()), is_late);
  EXPECT_THAT(client->Plan({1}, SmallSpec()), is_late);
  EXPECT_THAT(client->CheckHealth(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(target())));
  close(listener);
}

TEST_F(RemoteClientTest, AServerThatStops) {
  const std::unique_ptr<Server> server = StartServer(target());
  const std::unique_ptr<Client> client = MakeClient(kLong);
  const std::unique_ptr<PackStream> stream = *client->OpenStream(SmallSpec());
  ASSERT_THAT(stream->Add({1, 2, 3}), IsOk());
  ASSERT_THAT(stream->Wait(), IsOk());
  server->Stop(absl::ZeroDuration());

  const absl::Status error = stream->End();
  EXPECT_THAT(error,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(target())));
  // Packs come first, then the error, and it stays.
  absl::StatusOr<Packs> packs = stream->Take();
  ASSERT_THAT(packs, IsOk());
  EXPECT_THAT(packs->ordinals, testing::ElementsAre(0, 1));
  EXPECT_EQ(stream->Take().status(), error);
  EXPECT_EQ(stream->Add({4}), error);
  EXPECT_EQ(stream->Add({0}), error);
  EXPECT_EQ(stream->Flush(), error);
  EXPECT_EQ(stream->Wait(), error);
  EXPECT_EQ(stream->End(), error);
}

TEST_F(RemoteClientTest, AServerThatStopsWakesThoseWhoWait) {
  SessionLimits limits;
  limits.credit_inputs = 0;  // Add has to wait
  const std::unique_ptr<Server> server = StartServer(target(), limits);
  const std::unique_ptr<Client> client = MakeClient(kLong);
  const std::unique_ptr<PackStream> stream = *client->OpenStream(SmallSpec());
  auto add = std::async(std::launch::async, [&] {
    return stream->Add(std::vector<uint32_t>(1000, 1));
  });
  server->Stop(absl::ZeroDuration());
  EXPECT_THAT(add.get(), StatusIs(absl::StatusCode::kUnavailable, testing::_));
}

TEST_F(RemoteClientTest, AServerThatRestartsServesNewStreams) {
  const std::unique_ptr<Client> client = MakeClient(kLong);
  for (int i = 0; i < 3; ++i) {
    const std::unique_ptr<Server> server = StartServer(target());
    EXPECT_THAT(client->OpenStream(SmallSpec()), IsOk());
    server->Stop(absl::ZeroDuration());
  }
}

TEST_F(RemoteClientTest, TheServersLimitsArriveAsErrors) {
  SessionLimits limits;
  limits.max_window_sequences = 1;
  const std::unique_ptr<Server> server = StartServer(target(), limits);
  const std::unique_ptr<Client> client = MakeClient(kLong);
  EXPECT_THAT(
      client->OpenStream(SmallSpec()),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(target())));
  EXPECT_THAT(client->Plan(std::vector<uint32_t>(kMaxPlanSequences + 1, 1),
                           SmallSpec()),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("1048577"), HasSubstr("1048576"))));
}

TEST_F(RemoteClientTest, SmallerBatchesThanAsked) {
  SessionLimits limits;
  limits.max_batch_sequences = 1;
  limits.credit_inputs = 1;
  limits.credit_sequences = 1;
  const std::unique_ptr<Server> server = StartServer(target(), limits);
  const std::unique_ptr<Client> client = MakeClient(kLong);
  const std::unique_ptr<PackStream> stream = *client->OpenStream(SmallSpec());
  const std::vector<uint32_t> lengths(500, 4);
  ASSERT_THAT(stream->Add(lengths), IsOk());
  ASSERT_THAT(stream->End(), IsOk());
  EXPECT_TRUE(*stream->Take() == *Plan(lengths, SmallSpec()));
}

void WriteOpened(ScriptedServer::Call* call, uint64_t credit) {
  v1::PackResponse response;
  response.mutable_opened()->set_protocol_version(kProtocolVersion);
  response.mutable_opened()->set_max_batch_sequences(kMaxBatchSequences);
  response.mutable_credit()->set_max_number(credit);
  response.mutable_credit()->set_max_sequences(credit);
  call->Write(response);
}

// Opens the stream and waits for an input, before which the client may not
// know yet that the stream is open.
void OpenAndReadInput(ScriptedServer::Call* call) {
  WriteOpened(call, /*credit=*/100);
  v1::PackRequest request;
  call->Read(&request);
}

grpc::Status ReadToTheEnd(ScriptedServer::Call* call,
                          const v1::PackRequest& = {}) {
  v1::PackRequest request;
  while (call->Read(&request)) {
  }
  return grpc::Status::OK;
}

TEST_F(RemoteClientTest, AServerThatNeverOpens) {
  const ScriptedServer server(target(), ReadToTheEnd);
  EXPECT_THAT(MakeClient(kShort)->OpenStream(SmallSpec()),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("no answer within 1s")));
}

TEST_F(RemoteClientTest, AServerThatNeverGivesCredit) {
  const ScriptedServer server(
      target(), [](ScriptedServer::Call* call, const v1::PackRequest&) {
        WriteOpened(call, /*credit=*/0);
        return ReadToTheEnd(call);
      });
  const std::unique_ptr<PackStream> stream =
      *MakeClient(kShort)->OpenStream(SmallSpec());
  const absl::Status error = stream->Add(std::vector<uint32_t>(100000, 1));
  EXPECT_THAT(error, StatusIs(absl::StatusCode::kDeadlineExceeded,
                              HasSubstr("no answer within 1s")));
  EXPECT_EQ(stream->Take().status(), error);
}

TEST_F(RemoteClientTest, AServerThatNeverAnswersInputs) {
  absl::Notification over;
  const ScriptedServer server(
      target(), [&over](ScriptedServer::Call* call, const v1::PackRequest&) {
        WriteOpened(call, /*credit=*/100);
        over.WaitForNotification();
        return grpc::Status::OK;
      });
  const absl::Cleanup notify = [&over] { over.Notify(); };
  const std::unique_ptr<Client> client = MakeClient(kShort);
  std::unique_ptr<PackStream> stream = *client->OpenStream(SmallSpec());
  ASSERT_THAT(stream->Add({1, 2, 3}), IsOk());
  EXPECT_THAT(stream->Wait(), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                       HasSubstr("no answer within 1s")));
  stream = *client->OpenStream(SmallSpec());
  EXPECT_THAT(stream->End(), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                      HasSubstr("no answer within 1s")));
}

TEST_F(RemoteClientTest, ASlowServerIsNotALateOne) {
  // Each answer takes less than the limit, all of them take longer.
  const ScriptedServer server(
      target(), [](ScriptedServer::Call* call, const v1::PackRequest&) {
        WriteOpened(call, /*credit=*/100);
        v1::PackRequest request;
        v1::PackResponse response;
        for (uint64_t number = 1; call->Read(&request) && !request.has_end();
             ++number) {
          absl::SleepFor(kShort / 10);
          response.mutable_credit()->set_received_number(number);
          response.mutable_credit()->set_max_number(100);
          response.mutable_credit()->set_max_sequences(100);
          call->Write(response);
        }
        return grpc::Status::OK;
      });
  const std::unique_ptr<PackStream> stream =
      *MakeClient(kShort)->OpenStream(SmallSpec());
  for (int i = 0; i < 20; ++i) ASSERT_THAT(stream->Add({1, 1}), IsOk());
  EXPECT_THAT(stream->Wait(), IsOk());
}

TEST_F(RemoteClientTest, AServerThatClosesEarly) {
  const ScriptedServer server(
      target(), [](ScriptedServer::Call* call, const v1::PackRequest&) {
        OpenAndReadInput(call);
        return grpc::Status::OK;
      });
  const std::unique_ptr<PackStream> stream =
      *MakeClient(kLong)->OpenStream(SmallSpec());
  ASSERT_THAT(stream->Add({1}), IsOk());
  EXPECT_THAT(stream->End(), StatusIs(absl::StatusCode::kInternal,
                                      HasSubstr("closed before its end")));
}

TEST_F(RemoteClientTest, AServerThatEndsTheCallWithAnError) {
  const ScriptedServer server(
      target(), [](ScriptedServer::Call* call, const v1::PackRequest&) {
        OpenAndReadInput(call);
        return grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "number 7");
      });
  const std::unique_ptr<PackStream> stream =
      *MakeClient(kLong)->OpenStream(SmallSpec());
  ASSERT_THAT(stream->Add({1}), IsOk());
  EXPECT_THAT(stream->Wait(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("number 7")));
}

TEST_F(RemoteClientTest, AServerThatBreaksTheProtocol) {
  const ScriptedServer server(
      target(), [](ScriptedServer::Call* call, const v1::PackRequest&) {
        OpenAndReadInput(call);
        v1::PackResponse response;
        response.mutable_packs()->set_first_number(1);
        response.mutable_packs()->add_sizes(1);
        response.mutable_packs()->add_ordinals(99);  // nobody sent it
        call->Write(response);
        return ReadToTheEnd(call);
      });
  const std::unique_ptr<PackStream> stream =
      *MakeClient(kLong)->OpenStream(SmallSpec());
  ASSERT_THAT(stream->Add({1}), IsOk());
  EXPECT_THAT(stream->End(),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr(target()), HasSubstr("99"))));
}

TEST_F(RemoteClientTest, AServiceWithoutHealth) {
  const ScriptedServer server(target(), ReadToTheEnd);
  EXPECT_THAT(MakeClient(kLong)->CheckHealth(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("health")));
}

TEST_F(RemoteClientTest, APathThatNeedsEscapes) {
  const std::string path = dir_.File("100% of a socket");
  const std::unique_ptr<Server> server = StartServer("unix:" + path);
  ClientOptions options;
  options.target = "unix:" + path;
  EXPECT_THAT((*Client::Create(options))->CheckHealth(), IsOk());
}

TEST_F(RemoteClientTest, Ipv6) {
  ServerOptions server_options;
  server_options.listen = {"[::1]:0"};
  const absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(server_options);
  if (!server.ok()) GTEST_SKIP() << "no IPv6: " << server.status();
  ClientOptions options;
  options.target = (*server)->addresses()[0];
  EXPECT_THAT((*Client::Create(options))->CheckHealth(), IsOk());
}

}  // namespace
}  // namespace packhouse
