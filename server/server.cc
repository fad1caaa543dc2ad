#include "server/server.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"
#include "net/address.h"
#include "server/bind_failure.h"
#include "server/http_pages.h"
#include "server/metrics.h"
#include "server/packer_service.h"
#include "server/socket_guard.h"

namespace packhouse {
namespace {

// What clients have to take the last words of their streams, and for the round
// trip in which they take leave.
constexpr absl::Duration kGoodbyeLimit = absl::Seconds(1);

class RunningServer final : public Server {
 public:
  explicit RunningServer(const ServerOptions& options)
      : service_(options.limits, options.max_plan_sequences, &metrics_,
                 options.log) {}

  ~RunningServer() override { Stop(absl::ZeroDuration()); }

  absl::Status Start(const ServerOptions& options) {
    std::vector<Address> addresses;
    for (const std::string& text : options.listen) {
      absl::StatusOr<Address> address = ParseAddress(text);
      if (!address.ok()) return address.status();
      if (!address->is_local() && !options.insecure) {
        return absl::InvalidArgumentError(
            absl::StrCat("plaintext gRPC on ", text,
                         ", which other machines can reach, needs --insecure"));
      }
      addresses.push_back(*std::move(address));
    }
    if (addresses.empty()) {
      return absl::InvalidArgumentError("there is no address to listen on");
    }
    if (absl::Status status = StartHttp(options.http); !status.ok()) {
      return status;
    }
    if (absl::Status status = StartGrpc(addresses); !status.ok()) {
      return status;
    }
    serving_ = true;
    return absl::OkStatus();
  }

  const std::vector<std::string>& addresses() const override {
    return addresses_;
  }
  const std::string& http_address() const override { return http_address_; }

  void Stop(absl::Duration grace) override {
    absl::MutexLock lock(&stop_mutex_);
    if (grpc_ != nullptr) {
      service_.Close();
      grpc_->GetHealthCheckService()->Shutdown();
      serving_ = false;
      // Streams end first, connections after: gRPC closes a connection on which
      // it has said goodbye as soon as its last stream ends, and the client may
      // lose what it has not read by then. In this order the client confirms
      // the goodbye after it has received everything.
      const absl::Time grace_end = absl::Now() + grace;
      const bool all_ended = service_.AwaitNoStreams(grace);
      absl::Time goodbye_end = absl::Now() + kGoodbyeLimit;
      if (all_ended) {
        goodbye_end = std::min(goodbye_end, grace_end);
      } else {
        // By the streams' own words, or the client would only hear that its
        // connection broke. One that does not read is cut off below.
        service_.EndStreams();
        service_.AwaitNoStreams(kGoodbyeLimit);
      }
      grpc_->Shutdown(absl::ToChronoTime(goodbye_end));
      grpc_.reset();
    }
    http_.reset();
    guards_.clear();
  }

  ServerTotals totals() const override {
    ServerTotals totals;
    totals.streams = metrics_.streams_started();
    totals.sequences = metrics_.sequences();
    totals.tokens = metrics_.tokens();
    totals.packs = metrics_.packs();
    totals.cut_streams = metrics_.streams_ended(absl::StatusCode::kUnavailable);
    return totals;
  }

 private:
  absl::Status StartHttp(const std::string& text) {
    if (text.empty()) return absl::OkStatus();
    absl::StatusOr<Address> address = ParseAddress(text);
    if (!address.ok() || address->is_unix()) {
      constexpr size_t kShownBytes = 200;
      return absl::InvalidArgumentError(absl::StrCat(
          "the HTTP pages need HOST:PORT with a port from 0 to ", UINT16_MAX,
          ", not \"", absl::CEscape(text.substr(0, kShownBytes)), "\""));
    }
    HttpPages::Handlers handlers;
    handlers["/metrics"] = [this] {
      return HttpPage{200, "text/plain; version=0.0.4; charset=utf-8",
                      metrics_.Serialize()};
    };
    handlers["/healthz"] = [this] {
      return serving_
                 ? HttpPage{200, "text/plain; charset=utf-8", "ok\n"}
                 : HttpPage{503, "text/plain; charset=utf-8", "not serving\n"};
    };
    absl::StatusOr<std::unique_ptr<HttpPages>> http =
        HttpPages::Start(*address, std::move(handlers));
    if (!http.ok()) return http.status();
    http_ = *std::move(http);
    http_address_ = http_->address().ToString();
    return absl::OkStatus();
  }

  absl::Status StartGrpc(std::vector<Address> addresses) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.SetMaxSendMessageSize(kMaxMessageBytes);
    // With it, two servers would share a port without either knowing.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);

    std::vector<int> ports(addresses.size(), 0);
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (addresses[i].is_unix()) {
        absl::StatusOr<SocketGuard> guard =
            SocketGuard::Acquire(addresses[i].path);
        if (!guard.ok()) return guard.status();
        guards_.push_back(*std::move(guard));
      }
      builder.AddListeningPort(addresses[i].ToGrpcUri(),
                               grpc::InsecureServerCredentials(), &ports[i]);
    }
    grpc_ = builder.BuildAndStart();
    if (grpc_ == nullptr) {
      // It stopped at the first address that failed, and does not say why.
      const size_t failed =
          std::find(ports.begin(), ports.end(), 0) - ports.begin();
      return failed < ports.size() ? ExplainBindFailure(addresses[failed])
                                   : absl::InternalError("gRPC did not start");
    }
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (addresses[i].is_unix()) {
        absl::Status status = OpenToGroup(addresses[i]);
        if (!status.ok()) return status;
      } else {
        addresses[i].port = static_cast<uint16_t>(ports[i]);
      }
      addresses_.push_back(addresses[i].ToString());
    }
    grpc_->GetHealthCheckService()->SetServingStatus(
        v1::PackerService::service_full_name(), true);
    return absl::OkStatus();
  }

  // To connect takes the right to write, and pods share sockets by a group.
  static absl::Status OpenToGroup(const Address& address) {
    if (chmod(address.path.c_str(), 0660) == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("cannot set the mode of ",
                                                      address.ToString(), ": ",
                                                      std::strerror(errno)));
  }

  // In the order of their lives: a guard outlives gRPC, which removes the
  // socket; the metrics outlive whoever counts.
  std::vector<SocketGuard> guards_;
  Metrics metrics_;
  PackerServiceImpl service_;
  std::atomic<bool> serving_{false};
  std::unique_ptr<HttpPages> http_;
  std::unique_ptr<grpc::Server> grpc_;
  std::vector<std::string> addresses_;
  std::string http_address_;
  absl::Mutex stop_mutex_;  // one Stop at a time
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const ServerOptions& options) {
  auto server = std::make_unique<RunningServer>(options);
  if (absl::Status status = server->Start(options); !status.ok()) {
    return status;
  }
  return server;
}

absl::string_view ServerVersion() { return PACKHOUSE_VERSION; }

}  // namespace packhouse
