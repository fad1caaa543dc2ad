// Clients and servers that speak TLS: who trusts whom, and what is said where
// somebody does not.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "net/tls/tls_watch.h"
#include "packhouse/client.h"
#include "server/server.h"
#include "tests/packs.h"
#include "tests/pki.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using testing::_;
using testing::AllOf;
using testing::HasSubstr;

constexpr auto kUnavailable = absl::StatusCode::kUnavailable;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kDenied = absl::StatusCode::kPermissionDenied;
constexpr absl::Duration kLimit = absl::Seconds(60);
constexpr absl::Duration kShort = absl::Seconds(1);

class TlsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    pki_ = new Pki;
    pki_->Issue("server", "server", "DNS:localhost,IP:127.0.0.1");
    pki_->Issue("named", "server", "DNS:packer.example");
    pki_->Issue("alice", "alice");
    pki_->Issue("bob", "alice", "DNS:bob.example,URI:spiffe://example/bob");
    pki_->Issue("carol", "alice", "IP:127.0.0.1");
    other_ = new Pki;  // whom nobody trusts unless he says so
    other_->Issue("server", "server", "DNS:localhost,IP:127.0.0.1");
    other_->Issue("alice", "alice");
  }
  static void TearDownTestSuite() {
    delete pki_;
    delete other_;
  }

  static TlsServerOptions ServerTls(const Pki& pki = *pki_,
                                    const std::string& name = "server") {
    TlsServerOptions tls;
    tls.cert_file = pki.File(name + ".pem");
    tls.key_file = pki.File(name + ".key");
    return tls;
  }
  static TlsServerOptions MutualTls(std::vector<std::string> clients = {}) {
    TlsServerOptions tls = ServerTls();
    tls.client_ca_file = pki_->File("ca.pem");
    tls.allow_clients = std::move(clients);
    return tls;
  }
  static std::unique_ptr<Server> Start(
      const TlsServerOptions& tls, const std::string& listen = "127.0.0.1:0") {
    ServerOptions options;
    options.listen = {listen};
    options.tls = tls;
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options);
    EXPECT_THAT(server, IsOk());
    return server.ok() ? *std::move(server) : nullptr;
  }

  // A client that trusts pki_ and has the identity of that name, or none.
  static TlsOptions ClientTls(const std::string& name = "",
                              const Pki& pki = *pki_) {
    TlsOptions tls;
    tls.ca_file = pki_->File("ca.pem");
    if (!name.empty()) {
      tls.cert_file = pki.File(name + ".pem");
      tls.key_file = pki.File(name + ".key");
    }
    return tls;
  }
  static std::unique_ptr<Client> Connect(const std::string& target,
                                         const absl::optional<TlsOptions>& tls,
                                         absl::Duration limit = kLimit) {
    ClientOptions options;
    options.target = target;
    options.answer_within = limit;
    options.unavailable_for = limit;
    options.tls = tls;
    return *Client::Create(options);
  }
  static absl::Status CheckHealth(const Server& server,
                                  const absl::optional<TlsOptions>& tls) {
    return Connect(server.addresses()[0], tls)->CheckHealth();
  }

  static Pki* pki_;
  static Pki* other_;
};

Pki* TlsTest::pki_ = nullptr;
Pki* TlsTest::other_ = nullptr;

// All calls of the client.
void ExpectWorks(Client& client) {
  EXPECT_THAT(client.CheckHealth(), IsOk());
  const PackSpec spec = MakeSpec(10, 2);
  const std::vector<uint32_t> lengths = {3, 4, 5, 6};
  const absl::StatusOr<Packs> plan = client.Plan(lengths, spec);
  ASSERT_THAT(plan, IsOk());
  auto stream = client.OpenStream(spec);
  ASSERT_THAT(stream, IsOk());
  EXPECT_THAT((*stream)->Add(lengths), IsOk());
  EXPECT_THAT((*stream)->End(), IsOk());
  EXPECT_EQ((*stream)->Take()->size(), plan->size());
}

TEST_F(TlsTest, ClientsTrustTheServer) {
  const auto server = Start(ServerTls());
  ExpectWorks(*Connect(server->addresses()[0], ClientTls()));
  // An identity that nobody asks for does no harm.
  ExpectWorks(*Connect(server->addresses()[0], ClientTls("alice", *other_)));
}

TEST_F(TlsTest, ServersTrustTheClient) {
  const auto server = Start(MutualTls());
  for (const char* name : {"alice", "bob", "carol"}) {
    ExpectWorks(*Connect(server->addresses()[0], ClientTls(name)));
  }
}

TEST_F(TlsTest, ServersOfOtherAuthorities) {
  const auto server = Start(ServerTls(*other_));
  EXPECT_THAT(CheckHealth(*server, ClientTls()),
              StatusIs(kUnavailable, HasSubstr("certificate verify failed")));
  TlsOptions system;  // trusts no test
  EXPECT_THAT(CheckHealth(*server, system),
              StatusIs(kUnavailable, HasSubstr("certificate verify failed")));
  EXPECT_THAT(Connect(server->addresses()[0], ClientTls(), kShort)
                  ->OpenStream(MakeSpec(10, 2)),
              StatusIs(kUnavailable, HasSubstr("certificate verify failed")));
}

TEST_F(TlsTest, ServersOfOtherNames) {
  const auto server = Start(ServerTls(*pki_, "named"));
  EXPECT_THAT(CheckHealth(*server, ClientTls()),
              StatusIs(kUnavailable, HasSubstr("Hostname Verification")));
  TlsOptions tls = ClientTls();
  tls.server_name = "packer.example";
  ExpectWorks(*Connect(server->addresses()[0], tls));
  tls.server_name = "other.example";
  EXPECT_THAT(CheckHealth(*server, tls),
              StatusIs(kUnavailable, HasSubstr("Hostname Verification")));
}

TEST_F(TlsTest, ClientsThatTheServerDoesNotTrust) {
  const auto server = Start(MutualTls());
  for (const TlsOptions& tls : {ClientTls(), ClientTls("alice", *other_)}) {
    EXPECT_THAT(CheckHealth(*server, tls), StatusIs(kUnavailable, _));
    EXPECT_THAT(Connect(server->addresses()[0], tls, kShort)
                    ->OpenStream(MakeSpec(10, 2)),
                StatusIs(kUnavailable, _));
  }
}

TEST_F(TlsTest, PlaintextAndTlsDoNotMix) {
  const auto server = Start(ServerTls());
  EXPECT_THAT(CheckHealth(*server, absl::nullopt),
              StatusIs(kUnavailable, HasSubstr("Socket closed")));
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  const auto plaintext = *Server::Start(options);
  EXPECT_THAT(CheckHealth(*plaintext, ClientTls()),
              StatusIs(kUnavailable, HasSubstr("wrong version number")));
}

// Beyond loopback without --insecure, and beside a Unix socket, which stays
// plaintext.
TEST_F(TlsTest, ListenersOfBothKinds) {
  TempDir dir;
  ServerOptions options;
  options.listen = {"0.0.0.0:0", "unix:" + dir.File("s")};
  options.tls = ServerTls();
  const auto server = Server::Start(options);
  ASSERT_THAT(server, IsOk());
  const std::string& tcp = (*server)->addresses()[0];
  ExpectWorks(*Connect("localhost" + tcp.substr(tcp.rfind(':')), ClientTls()));
  ExpectWorks(*Connect((*server)->addresses()[1], absl::nullopt));
}

TEST_F(TlsTest, OlderVersionsAreRefused) {
  const auto server = Start(ServerTls());
  const auto handshake = [&](const std::string& version) {
    const std::string command = absl::StrCat(
        "openssl s_client -brief -cipher DEFAULT@SECLEVEL=0 -alpn h2 -",
        version, " -connect ", server->addresses()[0],
        " </dev/null >/dev/null 2>&1");
    return std::system(command.c_str()) == 0;
  };
  EXPECT_FALSE(handshake("tls1"));
  EXPECT_FALSE(handshake("tls1_1"));
  EXPECT_TRUE(handshake("tls1_2"));
  EXPECT_TRUE(handshake("tls1_3"));
}

TEST_F(TlsTest, NamedClients) {
  const struct {
    const char* allowed;
    std::vector<const char*> clients;  // of alice, bob, carol
  } kCases[] = {
      // Bob and Carol have this common name too, but alternative names count.
      {"alice", {"alice"}},
      {"bob.example", {"bob"}},
      {"spiffe://example/bob", {"bob"}},
      {"bob", {}},
      {"*.example", {}},
      {"spiffe://example/", {}},
      {"127.0.0.1", {}},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.allowed);
    const auto server = Start(MutualTls({"somebody.else", each.allowed}));
    for (const char* client : {"alice", "bob", "carol"}) {
      SCOPED_TRACE(client);
      const bool allowed = std::count(each.clients.begin(), each.clients.end(),
                                      std::string(client)) > 0;
      const auto result = Connect(server->addresses()[0], ClientTls(client))
                              ->Plan({3, 4}, MakeSpec(10, 2));
      if (allowed) {
        EXPECT_THAT(result, IsOk());
      } else {
        EXPECT_THAT(result, StatusIs(kDenied, _));
      }
    }
  }
}

TEST_F(TlsTest, RefusalsNameTheClient) {
  const auto server = Start(MutualTls({"nobody"}));
  const auto open = [&](const char* name) {
    return Connect(server->addresses()[0], ClientTls(name))
        ->OpenStream(MakeSpec(10, 2));
  };
  EXPECT_THAT(open("alice"), StatusIs(kDenied, HasSubstr("the name alice ")));
  EXPECT_THAT(open("bob"),
              StatusIs(kDenied, AllOf(HasSubstr("bob.example"),
                                      HasSubstr("spiffe://example/bob"))));
  EXPECT_THAT(open("carol"), StatusIs(kDenied, HasSubstr("no name")));
}

// The services of gRPC itself and methods that do not exist are no way round.
TEST_F(TlsTest, RefusalsHoldForEveryService) {
  const auto server = Start(MutualTls({"nobody"}));
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          pki_->File("alice.key"), pki_->File("alice.pem"),
          pki_->File("ca.pem"), 60));
  options.watch_identity_key_cert_pairs();
  options.watch_root_certs();
  const auto channel = grpc::CreateChannel(
      server->addresses()[0], grpc::experimental::TlsCredentials(options));
  for (const char* method :
       {"/packhouse.v1.PackerService/Pack", "/packhouse.v1.PackerService/Plan",
        "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        "/grpc.channelz.v1.Channelz/GetServers", "/no.such.Service/Method"}) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kLimit));
    grpc::CompletionQueue queue;
    const grpc::Slice nothing;
    grpc::ByteBuffer response;
    grpc::Status status;
    auto call = stub.PrepareUnaryCall(&context, method,
                                      grpc::ByteBuffer(&nothing, 1), &queue);
    call->StartCall();
    call->Finish(&response, &status, nullptr);
    void* tag;
    bool ok;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED)
        << method << ": " << status.error_message();
  }
}

TEST_F(TlsTest, ServerOptionsThatDoNotGoTogether) {
  const auto start = [](const TlsServerOptions& tls, bool insecure = false,
                        const std::string& listen = "127.0.0.1:0") {
    ServerOptions options;
    options.listen = {listen};
    options.tls = tls;
    options.insecure = insecure;
    return Server::Start(options).status();
  };
  TlsServerOptions tls = ServerTls();
  tls.key_file = "";
  EXPECT_THAT(start(tls), StatusIs(kInvalid, HasSubstr("needs --tls-key")));
  tls = ServerTls();
  tls.cert_file = "";
  EXPECT_THAT(start(tls), StatusIs(kInvalid, HasSubstr("needs --tls-cert")));
  tls = ServerTls();
  tls.allow_clients = {"alice"};
  EXPECT_THAT(start(tls),
              StatusIs(kInvalid, HasSubstr("needs --tls-client-ca")));
  tls = TlsServerOptions();
  tls.client_ca_file = pki_->File("ca.pem");
  EXPECT_THAT(start(tls), StatusIs(kInvalid, HasSubstr("needs --tls-cert")));
  EXPECT_THAT(start(ServerTls(), /*insecure=*/true),
              StatusIs(kInvalid, HasSubstr("--insecure")));
  TempDir dir;
  EXPECT_THAT(start(ServerTls(), false, "unix:" + dir.File("s")),
              StatusIs(kInvalid, HasSubstr("TCP")));
}

TEST_F(TlsTest, ServerFilesAreCheckedAtStart) {
  const auto start = [](const TlsServerOptions& tls) {
    ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    options.tls = tls;
    return Server::Start(options).status();
  };
  TlsServerOptions tls = ServerTls();
  tls.cert_file = pki_->File("missing");
  EXPECT_THAT(start(tls), StatusIs(kInvalid, HasSubstr(tls.cert_file)));
  tls = ServerTls();
  tls.key_file = pki_->File("alice.key");
  EXPECT_THAT(start(tls), StatusIs(kInvalid, HasSubstr("does not belong")));
  tls = MutualTls();
  tls.client_ca_file = pki_->File("ca.key");
  EXPECT_THAT(start(tls), StatusIs(kInvalid, HasSubstr(tls.client_ca_file)));
}

TEST_F(TlsTest, ClientOptionsThatCannotBe) {
  const auto create = [](const TlsOptions& tls,
                         const std::string& target = "127.0.0.1:1") {
    ClientOptions options;
    options.target = target;
    options.tls = tls;
    return Client::Create(options).status();
  };
  EXPECT_THAT(create(ClientTls("alice")), IsOk());
  for (const char* target : {"", "unix:/a"}) {
    EXPECT_THAT(create(TlsOptions(), target),
                StatusIs(kInvalid, HasSubstr("HOST:PORT")));
  }
  TlsOptions tls = ClientTls("alice");
  tls.key_file = "";
  EXPECT_THAT(create(tls), StatusIs(kInvalid, HasSubstr("needs its key")));
  tls.key_file = pki_->File("bob.key");
  EXPECT_THAT(create(tls), StatusIs(kInvalid, HasSubstr("does not belong")));
  tls = ClientTls();
  tls.ca_file = pki_->File("missing");
  EXPECT_THAT(create(tls), StatusIs(kInvalid, HasSubstr(tls.ca_file)));
}

// A folder that is replaced as Kubernetes replaces those of secrets: new
// connections are made with the new files, one that is there goes on.
TEST_F(TlsTest, FilesAreReplaced) {
  namespace fs = std::filesystem;
  TempDir dir;
  const auto fill = [&dir](const std::string& folder, const Pki& pki) {
    fs::create_directory(dir.File(folder));
    for (const char* name : {"server.pem", "server.key", "ca.pem"}) {
      fs::copy(pki.File(name), dir.File(folder) + "/" + name);
    }
  };
  fill("old", *pki_);
  fill("new", *other_);
  fs::create_directory_symlink("old", dir.File("live"));
  TlsServerOptions tls;
  tls.cert_file = dir.File("live/server.pem");
  tls.key_file = dir.File("live/server.key");
  tls.client_ca_file = dir.File("live/ca.pem");
  tls.refresh_seconds = 1;
  const auto server = Start(tls);
  const TlsOptions old_client = ClientTls("alice");
  TlsOptions new_client = ClientTls("alice", *other_);
  new_client.ca_file = other_->File("ca.pem");
  EXPECT_THAT(CheckHealth(*server, new_client), StatusIs(kUnavailable, _));

  const auto client = Connect(server->addresses()[0], old_client);
  auto stream = client->OpenStream(MakeSpec(10, 2));
  ASSERT_THAT(stream, IsOk());
  ASSERT_THAT((*stream)->Add({3, 4}), IsOk());
  ASSERT_THAT((*stream)->Wait(), IsOk());

  fs::create_directory_symlink("new", dir.File("next"));
  fs::rename(dir.File("next"), dir.File("live"));
  const absl::Time limit = absl::Now() + kLimit;
  while (!CheckHealth(*server, new_client).ok()) {
    ASSERT_LT(absl::Now(), limit);
    std::this_thread::yield();
  }
  EXPECT_THAT(CheckHealth(*server, old_client), StatusIs(kUnavailable, _));
  EXPECT_THAT((*stream)->Add({5, 6}), IsOk());
  EXPECT_THAT((*stream)->End(), IsOk());
  EXPECT_EQ((*stream)->Take()->ordinals.size(), 4);
}

// As `cp` replaces them: each is empty for a time, and for a time the new
// certificate lies beside the old key.
TEST_F(TlsTest, FilesAreReplacedInSteps) {
  TempDir dir;
  const auto read = [](const Pki& pki, const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(pki.File(name)).rdbuf();
    return text.str();
  };
  const auto write = [&dir](const std::string& name, const std::string& text) {
    std::ofstream(dir.File(name)) << text;
  };
  TlsServerOptions tls;
  tls.cert_file = dir.File("server.pem");
  tls.key_file = dir.File("server.key");
  tls.refresh_seconds = 1;
  write("server.pem", read(*pki_, "server.pem"));
  write("server.key", read(*pki_, "server.key"));
  const auto server = Start(tls);
  absl::StatusOr<TlsWatch*> watch =
      TlsWatch::Of({tls.cert_file, tls.key_file, ""}, 1);
  ASSERT_THAT(watch, IsOk());
  TlsOptions new_client;
  new_client.ca_file = other_->File("ca.pem");
  const auto await = [](const auto& condition) {
    const absl::Time limit = absl::Now() + kLimit;
    while (!condition()) {
      ASSERT_LT(absl::Now(), limit);
      std::this_thread::yield();
    }
  };
  for (const std::string& text : {std::string(), read(*other_, "server.pem")}) {
    write("server.pem", text);
    await([&] { return !(*watch)->state().ok(); });
    // gRPC looks at what it is shown meanwhile.
    const absl::Time until = absl::Now() + absl::Seconds(2);
    while (absl::Now() < until) {
      ASSERT_THAT(CheckHealth(*server, ClientTls()), IsOk());
    }
  }
  write("server.key", read(*other_, "server.key"));
  await([&] { return CheckHealth(*server, new_client).ok(); });
  EXPECT_THAT((*watch)->state(), IsOk());
  EXPECT_THAT(CheckHealth(*server, ClientTls()), StatusIs(kUnavailable, _));
}

}  // namespace
}  // namespace packhouse
