#include "server/server.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/types/optional.h"
#include "grpcpp/ext/channelz_service_plugin.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"
#include "net/address.h"
#include "net/keepalive.h"
#include "server/admin_service.h"
#include "server/bind_failure.h"
#include "server/http_pages.h"
#include "server/memory_budget.h"
#include "server/metrics.h"
#include "server/packer_service.h"
#include "server/refusal.h"
#include "server/service_host.h"
#include "server/socket_access.h"
#include "server/socket_guard.h"
#include "server/ticker.h"
#include "server/tls_credentials.h"
#include "server/work_pool.h"

namespace packhouse {
namespace {

// What clients have to take the last words of their streams, and for the round
// trip in which they take leave.
constexpr absl::Duration kGoodbyeLimit = absl::Seconds(1);

// Calls that one connection may have open; a client keeps further ones back.
// Twice what `packhouse stream` opens at most.
constexpr int kMaxCallsPerConnection = 2000;

// The addresses of the options, each of them well-formed and allowed.
absl::StatusOr<std::vector<Address>> ParseListen(const ServerOptions& options) {
  std::vector<Address> addresses;
  bool has_tcp = false;
  for (const std::string& text : options.listen) {
    absl::StatusOr<Address> address = ParseAddress(text);
    if (!address.ok()) return address.status();
    if (!address->is_local() && !options.insecure && !options.tls.is_set()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "plaintext gRPC on ", text,
          ", which other machines can reach, needs --insecure, or --tls-cert "
          "and --tls-key to be no plaintext"));
    }
    has_tcp |= !address->is_unix();
    addresses.push_back(*std::move(address));
  }
  if (addresses.empty()) {
    return absl::InvalidArgumentError(
        "there is no address to listen on: --listen is needed");
  }
  if (options.tls.is_set() && options.insecure) {
    return absl::InvalidArgumentError(
        "--insecure allows plaintext, and with TLS no TCP address has any: "
        "leave one of them out");
  }
  if (options.tls.is_set() && !has_tcp) {
    return absl::InvalidArgumentError(
        "TLS is for TCP addresses, and no --listen is one");
  }
  return addresses;
}

absl::StatusOr<SocketAccess> ParseSocketAccess(const ServerOptions& options) {
  SocketAccess access;
  access.mode = options.socket_mode;
  if (options.socket_group.empty()) return access;
  absl::StatusOr<gid_t> group = FindGroup(options.socket_group);
  if (!group.ok()) return group.status();
  access.group = *group;
  return access;
}

// Streams are looked at so often within the time that they may be idle, and no
// more often than this.
constexpr int kTicksInTimeout = 8;
constexpr absl::Duration kMinTick = absl::Milliseconds(5);
constexpr absl::Duration kMaxTick = absl::Seconds(1);

// What of a stream may wait in the server before it is read: enough that the
// next batch is there when one is done (64 KiB cost a tenth of the speed with
// batches of 16384). The buffer of a larger message grows as it comes.
constexpr int kLookaheadBytes = 256 << 10;

// What gRPC may take beside what streams and plans commit: messages of the
// largest size on all threads, and buffers of connections. Beyond it gRPC
// closes connections that are idle, then breaks off streams, whose clients see
// RESOURCE_EXHAUSTED; other calls go on.
constexpr size_t kTransportBytes = size_t{512} << 20;

absl::Duration TickPeriod(const ServerOptions& options) {
  const absl::Duration shortest =
      std::min(options.idle_timeout, options.open_timeout);
  return std::max(kMinTick, std::min(kMaxTick, shortest / kTicksInTimeout));
}

int PackingThreads(const ServerOptions& options) {
  if (options.packing_threads > 0) return options.packing_threads;
  cpu_set_t cores;
  const int count =
      sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 1;
  return std::max(2, count);
}

class RunningServer final : public Server {
 public:
  explicit RunningServer(const ServerOptions& options)
      : memory_(options.max_memory_bytes),
        pool_(PackingThreads(options), options.max_waiting_plans,
              [this](absl::Duration wait) { metrics_.CountWait(wait); }),
        host_(options, &pool_, &memory_, &metrics_),
        service_(&host_),
        admin_service_(&host_) {}

  ~RunningServer() override { Stop(absl::ZeroDuration()); }

  absl::Status Start(const ServerOptions& options) {
    absl::StatusOr<std::vector<Address>> addresses = ParseListen(options);
    if (!addresses.ok()) return addresses.status();
    absl::StatusOr<SocketAccess> access = ParseSocketAccess(options);
    if (!access.ok()) return access.status();
    std::shared_ptr<grpc::ServerCredentials> tcp_credentials =
        grpc::InsecureServerCredentials();
    if (options.tls.is_set()) {
      absl::StatusOr<TlsWatch*> watch = WatchTls(options.tls);
      if (!watch.ok()) return watch.status();
      tls_watch_ = *watch;
      tcp_credentials = MakeTlsCredentials(options.tls, **watch, options.log);
    }
    if (absl::Status status = StartHttp(options.http); !status.ok()) {
      return status;
    }
    if (absl::Status status =
            StartGrpc(*std::move(addresses), *access, tcp_credentials, options);
        !status.ok()) {
      return status;
    }
    serving_ = true;
    ticker_.emplace(TickPeriod(options), [this] {
      const absl::Time now = absl::Now();
      host_.streams.ForEach([now](OpenStream& stream) { stream.Tick(now); });
      if (tls_watch_ != nullptr) LogTlsFiles();
    });
    return absl::OkStatus();
  }

  const std::vector<std::string>& addresses() const override {
    return addresses_;
  }
  const std::string& http_address() const override { return http_address_; }

  void Stop(absl::Duration grace) override {
    absl::MutexLock lock(&stop_mutex_);
    if (grpc_ != nullptr) {
      OpenStreams& streams = host_.streams;
      streams.Close();
      grpc_->GetHealthCheckService()->Shutdown();
      serving_ = false;
      // Streams end first, connections after: gRPC closes a connection on which
      // it has said goodbye as soon as its last stream ends, and the client may
      // lose what it has not read by then. In this order the client confirms
      // the goodbye after it has received everything.
      const absl::Time grace_end = absl::Now() + grace;
      const double grace_seconds = absl::ToDoubleSeconds(grace);
      streams.ForEach(
          [grace_seconds](OpenStream& stream) { stream.Drain(grace_seconds); });
      const bool all_ended = streams.AwaitNone(grace_end - absl::Now());
      absl::Time goodbye_end = absl::Now() + kGoodbyeLimit;
      if (all_ended) {
        goodbye_end = std::min(goodbye_end, grace_end);
      } else {
        // By the streams' own words, or the client would only hear that its
        // connection broke. One that does not read is cut off below.
        streams.ForEach([](OpenStream& stream) { stream.End(Stopping()); });
        streams.AwaitNone(goodbye_end - absl::Now());
      }
      grpc_->Shutdown(absl::ToChronoTime(goodbye_end));
      grpc_.reset();
      ticker_.reset();
    }
    http_.reset();
    guards_.clear();
  }

  ServerTotals totals() const override {
    ServerTotals totals;
    totals.streams = metrics_.streams_started();
    totals.open_streams = host_.streams.size();
    totals.sequences = metrics_.sequences();
    totals.tokens = metrics_.tokens();
    totals.packs = metrics_.packs();
    totals.drained_streams = metrics_.streams_drained();
    totals.cut_streams = metrics_.streams_ended(absl::StatusCode::kUnavailable);
    return totals;
  }

  int packing_threads() const override { return pool_.load().threads; }

 private:
  // Once, when they are no longer sound and when they are again.
  void LogTlsFiles() {
    const absl::Status state = tls_watch_->state();
    if (state == tls_state_) return;
    tls_state_ = state;
    Log* log = host_.options.log;
    if (log == nullptr) return;
    if (state.ok()) {
      log->Info("TLS files are sound again");
    } else {
      log->Warning("TLS files are not sound, the former stay in use",
                   {{"error", std::string(state.message())}});
    }
  }

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
      metrics_.SetLoad(pool_.load(), memory_);
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

  absl::Status StartGrpc(
      std::vector<Address> addresses, const SocketAccess& access,
      const std::shared_ptr<grpc::ServerCredentials>& tcp_credentials,
      const ServerOptions& options) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::channelz::experimental::InitChannelzService();
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    builder.RegisterService(&admin_service_);
    SetTransport(options, &builder);

    std::vector<int> ports(addresses.size(), 0);
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (addresses[i].is_unix()) {
        absl::Status status = MakeSocketFolder(addresses[i].path, access);
        if (!status.ok()) return status;
        absl::StatusOr<SocketGuard> guard =
            SocketGuard::Acquire(addresses[i].path);
        if (!guard.ok()) return guard.status();
        guards_.push_back(*std::move(guard));
      }
      builder.AddListeningPort(addresses[i].ToGrpcUri(),
                               addresses[i].is_unix()
                                   ? grpc::InsecureServerCredentials()
                                   : tcp_credentials,
                               &ports[i]);
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
        absl::Status status = SetSocketAccess(addresses[i].path, access);
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

  static void SetTransport(const ServerOptions& options,
                           grpc::ServerBuilder* builder) {
    builder->SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder->SetMaxSendMessageSize(kMaxMessageBytes);
    builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                                kMaxCallsPerConnection);
    builder->SetResourceQuota(
        grpc::ResourceQuota("packhoused")
            .Resize(options.max_memory_bytes + kTransportBytes));
    // What a client may send of a stream before the server reads it. By default
    // gRPC estimates what the link holds, and lets 4 MiB in.
    builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder->AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES,
                                kLookaheadBytes);
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                                kServerPingIntervalMs);
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                                kServerPingTimeoutMs);
    builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    builder->AddChannelArgument(
        GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
        kServerPermittedPingIntervalMs);
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    // With it, two servers would share a port without either knowing.
    builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  }

  // In the order of their lives: a guard outlives gRPC, which removes the
  // socket; the metrics outlive whoever counts; what jobs of the pool have of
  // the host is gone with their calls.
  std::vector<SocketGuard> guards_;
  Metrics metrics_;
  MemoryBudget memory_;
  WorkPool pool_;
  ServiceHost host_;
  PackerServiceImpl service_;
  AdminServiceImpl admin_service_;
  const TlsWatch* tls_watch_ = nullptr;  // without TLS
  absl::Status tls_state_;               // that was logged; the ticker's
  absl::optional<Ticker> ticker_;
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
