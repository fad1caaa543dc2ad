// Where a server serves, what it says of itself and how it stops.

#include "server/server.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "tests/server/connect.h"
#include "tests/server/http_get.h"
#include "tests/server/standstill.h"
#include "tests/status_matchers.h"
#include "tests/temp_dir.h"

namespace packhouse {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

constexpr absl::Duration kLimit = absl::Seconds(60);

// Sends one message of bytes to a method and returns the first one that comes
// back, or the status: for services without generated code here.
absl::StatusOr<std::string> CallRaw(const std::string& address,
                                    const std::string& method,
                                    const std::string& request) {
  grpc::GenericStub stub(Connect(address));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kLimit));
  grpc::CompletionQueue queue;
  auto call = stub.PrepareCall(&context, method, &queue);
  auto wait = [&queue] {
    void* tag;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  call->StartCall(nullptr);
  wait();
  const grpc::Slice slice(request);
  call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  wait();
  grpc::ByteBuffer response;
  call->Read(&response, nullptr);
  const bool answered = wait();
  // A method that streams would go on; that is no concern of ours.
  if (answered) context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  if (!answered) {
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                        status.error_message());
  }
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(response.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& part : slices) {
    bytes.append(reinterpret_cast<const char*>(part.begin()), part.size());
  }
  return bytes;
}

// grpc.health.v1.HealthCheckRequest has the service as field 1, the response
// the status as field 1: 1 is SERVING, 2 NOT_SERVING.
absl::StatusOr<std::string> CheckHealth(const std::string& address,
                                        const std::string& service) {
  std::string request;
  if (!service.empty()) {
    request = std::string("\x0a") + static_cast<char>(service.size()) + service;
  }
  return CallRaw(address, "/grpc.health.v1.Health/Check", request);
}

class ServerTest : public testing::Test {
 protected:
  static ServerOptions Options(std::vector<std::string> listen,
                               std::string http = "") {
    ServerOptions options;
    options.listen = std::move(listen);
    options.http = std::move(http);
    return options;
  }
  std::string Unix(const std::string& name) const {
    return "unix:" + dir_.File(name);
  }

  TempDir dir_;
};

TEST_F(ServerTest, ServesOnAllAddressesInOrder) {
  // gRPC would read %41 as A.
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(Options(
      {"127.0.0.1:0", Unix("a"), "localhost:0", Unix("b%41"), "127.0.0.1:0"}));
  ASSERT_THAT(server, IsOk());
  const std::vector<std::string> addresses = (*server)->addresses();
  EXPECT_THAT(addresses,
              ElementsAre(MatchesRegex("127.0.0.1:[1-9][0-9]*"), Unix("a"),
                          MatchesRegex("localhost:[1-9][0-9]*"), Unix("b%41"),
                          MatchesRegex("127.0.0.1:[1-9][0-9]*")));
  EXPECT_NE(addresses[0], addresses[4]);
  const std::string port = addresses[2].substr(addresses[2].rfind(':'));
  for (const std::string& target :
       {addresses[0], addresses[1], "127.0.0.1" + port,
        Unix("b%2541"),  // a client decodes as the server does
        addresses[4]}) {
    EXPECT_THAT(CheckHealth(target, ""), IsOk()) << target;
  }
  for (const char* name : {"a", "b%41"}) {
    struct stat status;
    ASSERT_EQ(stat(dir_.File(name).c_str(), &status), 0);
    EXPECT_TRUE(S_ISSOCK(status.st_mode));
    EXPECT_EQ(status.st_mode & 0777, 0660);
  }
  server->reset();
  // Neither sockets nor locks are left.
  EXPECT_TRUE(std::filesystem::is_empty(dir_.File("")));
}

TEST_F(ServerTest, HealthReflectionAndChannelz) {
  const auto server = *Server::Start(Options({Unix("s")}));
  EXPECT_EQ(*CheckHealth(Unix("s"), ""), "\x08\x01");
  EXPECT_EQ(*CheckHealth(Unix("s"), "packhouse.v1.PackerService"), "\x08\x01");
  EXPECT_THAT(CheckHealth(Unix("s"), "no.such.Service"),
              StatusIs(absl::StatusCode::kNotFound, testing::_));
  // ServerReflectionRequest{list_services: ""}
  const absl::StatusOr<std::string> services =
      CallRaw(Unix("s"),
              "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
              std::string("\x3a\x00", 2));
  ASSERT_THAT(services, IsOk());
  EXPECT_THAT(*services, HasSubstr("packhouse.v1.PackerService"));
  // GetServersRequest{}; what it says of itself is gRPC's.
  EXPECT_THAT(CallRaw(Unix("s"), "/grpc.channelz.v1.Channelz/GetServers", ""),
              IsOk());
}

TEST_F(ServerTest, SocketsHaveTheModeAndTheFolderAskedFor) {
  ServerOptions options = Options({Unix("folder/s"), Unix("t")});
  options.socket_mode = 0600;
  const auto server = Server::Start(options);
  ASSERT_THAT(server, IsOk());
  for (const char* name : {"folder/s", "t"}) {
    struct stat status;
    ASSERT_EQ(stat(dir_.File(name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600);
    EXPECT_THAT(CheckHealth(Unix(name), ""), IsOk());
  }
  options.listen = {Unix("u")};
  options.socket_group = "no-such-group";
  EXPECT_THAT(
      Server::Start(options),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no-such-group")));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("u")));
}

TEST_F(ServerTest, HttpPages) {
  const auto server = *Server::Start(Options({Unix("s")}, "localhost:0"));
  const std::string& http = server->http_address();
  EXPECT_THAT(http, MatchesRegex("localhost:[1-9][0-9]*"));
  EXPECT_THAT(
      HttpGet(http, "/healthz"),
      AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\nok\n")));
  EXPECT_THAT(HttpGet(http, "/metrics"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                    HasSubstr("Content-Type: text/plain; version=0.0.4"),
                    HasSubstr("\npackhouse_streams 0\n"),
                    HasSubstr("\npackhouse_build_info{version=\"" +
                              std::string(ServerVersion()) + "\"} 1\n")));
  EXPECT_THAT(HttpGet(http, "/metrics", "HEAD"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\n")));
  for (const char* path : {"/", "/metrics/", "/nothing", "/../../etc/passwd"}) {
    EXPECT_THAT(HttpGet(http, path), MatchesRegex("HTTP/1.1 40[04].*"));
  }
  for (const char* method : {"POST", "PUT", "DELETE"}) {
    EXPECT_THAT(HttpGet(http, "/metrics", method), StartsWith("HTTP/1.1 405 "));
  }
}

// Connections on which no request comes do not keep a probe waiting.
TEST_F(ServerTest, HttpPagesBesideIdleConnections) {
  const auto server = *Server::Start(Options({Unix("s")}, "127.0.0.1:0"));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string& http = server->http_address();
  int port = 0;
  ASSERT_TRUE(absl::SimpleAtoi(http.substr(http.rfind(':') + 1), &port));
  address.sin_port = htons(static_cast<uint16_t>(port));
  std::vector<int> idle(15);
  for (int& fd : idle) {
    fd = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address),
                      sizeof(address)),
              0);
  }
  EXPECT_THAT(HttpGet(http, "/healthz"), EndsWith("\r\n\r\nok\n"));
  // All are still open: the answer did not wait for one of them to end.
  for (const int fd : idle) {
    char byte;
    EXPECT_EQ(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
    EXPECT_EQ(errno, EAGAIN);
    close(fd);
  }
}

TEST_F(ServerTest, AddressInUse) {
  const auto server =
      *Server::Start(Options({"127.0.0.1:0", Unix("s")}, "127.0.0.1:0"));
  for (const std::string& taken : {server->addresses()[0], Unix("s")}) {
    // The one that is free must not stay behind, nor the other be taken away.
    EXPECT_THAT(Server::Start(Options({Unix("free"), taken})),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("cannot listen on " + taken)));
    EXPECT_FALSE(std::filesystem::exists(dir_.File("free")));
    EXPECT_THAT(CheckHealth(taken, ""), IsOk());
  }
  EXPECT_THAT(
      Server::Start(Options({Unix("t")}, server->http_address())),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr(server->http_address()), HasSubstr("in use"))));
  EXPECT_THAT(
      Server::Start(Options({Unix("t"), Unix("t")})),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(Unix("t"))));
}

TEST_F(ServerTest, AddressesThatCannotBe) {
  const auto invalid = absl::StatusCode::kInvalidArgument;
  const auto failed = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(Server::Start(Options({})), StatusIs(invalid, HasSubstr("no")));
  EXPECT_THAT(Server::Start(Options({"nonsense"})),
              StatusIs(invalid, HasSubstr("nonsense")));
  EXPECT_THAT(Server::Start(Options({Unix("missing/deeper/s")})),
              StatusIs(failed, HasSubstr("No such file")));
  std::ofstream(dir_.File("file")) << "precious";
  EXPECT_THAT(Server::Start(Options({Unix("file")})),
              StatusIs(failed, HasSubstr("not a socket")));
  EXPECT_EQ(std::filesystem::file_size(dir_.File("file")), 8);
  for (const std::string& http : {Unix("h"), std::string("foo")}) {
    EXPECT_THAT(Server::Start(Options({Unix("s")}, http)),
                StatusIs(invalid, AllOf(HasSubstr("HOST:PORT"), HasSubstr(http),
                                        Not(HasSubstr("unix:PATH")))));
  }
  EXPECT_THAT(Server::Start(Options({Unix("s")}, "192.0.2.1:1")),
              StatusIs(failed, HasSubstr("192.0.2.1:1")));
}

TEST_F(ServerTest, PlaintextBeyondLoopbackNeedsInsecure) {
  ServerOptions options = Options({"0.0.0.0:0"});
  EXPECT_THAT(Server::Start(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("0.0.0.0:0"), HasSubstr("--insecure"))));
  options.insecure = true;
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options);
  ASSERT_THAT(server, IsOk());
  const std::string& address = (*server)->addresses()[0];
  EXPECT_THAT(CheckHealth("127.0.0.1" + address.substr(address.rfind(':')), ""),
              IsOk());
}

// An open Pack call on a server that is told to stop.
class StopTest : public ServerTest {
 protected:
  void SetUp() override {
    server_ = *Server::Start(Options({Unix("s")}, "127.0.0.1:0"));
    channel_ = Connect(Unix("s"));
    stub_ = v1::PackerService::NewStub(channel_);
    context_.set_deadline(absl::ToChronoTime(absl::Now() + kLimit));
    stream_ = stub_->Pack(&context_);
    v1::PackRequest open;
    open.mutable_open()->set_protocol_version(1);
    open.mutable_open()->mutable_spec()->set_capacity_tokens(8);
    ASSERT_TRUE(stream_->Write(open));
    ASSERT_TRUE(stream_->Read(&response_));
    ASSERT_TRUE(response_.has_opened());
  }

  static void ExpectStopping(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(status.error_message(), "the server is stopping");
  }

  // The server's word that it stops, behind a snapshot.
  void ReadDrain() {
    ASSERT_TRUE(stream_->Read(&response_));
    EXPECT_TRUE(response_.has_snapshot());
    ASSERT_TRUE(stream_->Read(&response_));
    EXPECT_TRUE(response_.has_drain());
  }

  // Waits until the server has taken so many.
  void AwaitSequences(uint64_t count) const {
    const absl::Time limit = absl::Now() + kLimit;
    while (server_->totals().sequences < count) {
      ASSERT_LT(absl::Now(), limit);
      std::this_thread::yield();
    }
  }

  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::PackerService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::PackRequest, v1::PackResponse>>
      stream_;
  v1::PackResponse response_;
};

TEST_F(StopTest, OpenStreamIsCutAfterTheGrace) {
  server_->Stop(absl::Milliseconds(100));
  ReadDrain();
  EXPECT_FALSE(stream_->Read(&response_));
  ExpectStopping(stream_->Finish());
  EXPECT_EQ(server_->totals().streams, 1);
  EXPECT_EQ(server_->totals().cut_streams, 1);
  EXPECT_FALSE(std::filesystem::exists(dir_.File("s")));
  EXPECT_EQ(HttpGet(server_->http_address(), "/healthz"), "");
  server_->Stop(kLimit);  // does nothing
}

TEST_F(StopTest, OpenStreamMayEndWithinTheGrace) {
  std::future<void> stopped =
      std::async(std::launch::async, [&] { server_->Stop(kLimit); });
  const std::string http = server_->http_address();
  const absl::Time limit = absl::Now() + kLimit;
  while (HttpGet(http, "/healthz").find("HTTP/1.1 503 ") != 0) {
    ASSERT_LT(absl::Now(), limit);
  }
  EXPECT_EQ(*CheckHealth(Unix("s"), ""), "\x08\x02");
  {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kLimit));
    const auto late = stub_->Pack(&context);
    EXPECT_EQ(late->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  v1::PackRequest request;
  request.mutable_batch()->set_number(1);
  request.mutable_batch()->add_lengths(3);
  ASSERT_TRUE(stream_->Write(request));
  request.mutable_end()->set_number(2);
  ASSERT_TRUE(stream_->Write(request));
  bool ended = false;
  while (stream_->Read(&response_)) ended |= response_.has_ended();
  EXPECT_TRUE(ended);
  const grpc::Status status = stream_->Finish();
  EXPECT_TRUE(status.ok()) << status.error_code() << status.error_message();
  stopped.get();
  EXPECT_EQ(server_->totals().cut_streams, 0);
  EXPECT_EQ(server_->totals().packs, 1);
}

// What the server has answered by then still comes, and then its own word.
TEST_F(StopTest, CutStreamGetsWhatIsQueued) {
  constexpr uint64_t kBatches = 20;
  v1::PackRequest request;
  for (uint64_t number = 1; number <= kBatches; ++number) {
    request.mutable_batch()->set_number(number);
    request.mutable_batch()->mutable_lengths()->Resize(16384, 8);
    ASSERT_TRUE(stream_->Write(request));
    request.Clear();
  }
  AwaitSequences(kBatches * 16384);
  std::future<void> stopped = std::async(
      std::launch::async, [&] { server_->Stop(absl::ZeroDuration()); });
  int packs = 0;
  while (stream_->Read(&response_)) packs += response_.packs().sizes_size();
  EXPECT_EQ(packs, kBatches * 16384);
  ExpectStopping(stream_->Finish());
  stopped.get();
}

// What is queued for a client that does not read cannot be sent: it is cut off.
TEST_F(StopTest, ClientThatDoesNotReadIsCut) {
  std::thread writer([this] {
    v1::PackRequest request;
    for (uint64_t number = 1;; ++number) {
      request.mutable_batch()->set_number(number);
      request.mutable_batch()->mutable_lengths()->Resize(16384, 8);
      if (!stream_->Write(request)) return;
      request.Clear();
    }
  });
  const uint64_t taken = AwaitStandstill(*server_);
  server_->Stop(absl::ZeroDuration());
  EXPECT_EQ(server_->totals().cut_streams, 1);
  writer.join();
  uint64_t packs = 0;
  while (stream_->Read(&response_)) packs += response_.packs().sizes_size();
  EXPECT_LT(packs, taken);  // or nothing was held up
  EXPECT_FALSE(stream_->Finish().ok());
}

TEST_F(StopTest, DestructionStops) {
  server_.reset();
  ReadDrain();
  EXPECT_FALSE(stream_->Read(&response_));
  ExpectStopping(stream_->Finish());
}

}  // namespace
}  // namespace packhouse
