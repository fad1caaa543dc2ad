#include "client/remote_server.h"

#include <grpc/grpc.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "net/keepalive.h"
#include "net/tls/tls_watch.h"
#include "session/messages.h"

namespace packhouse {
namespace {

// A sidecar often starts after the trainer, so a server that is not there yet
// is tried again soon, and never less than once a second.
constexpr int kFirstReconnectMs = 50;
constexpr int kMaxReconnectMs = 1000;

// How often the files of TLS are looked at. A stream may live for weeks, and
// when it has to connect anew its first certificate may have run out.
constexpr unsigned kTlsRefreshSeconds = 60;

grpc::ChannelArguments Arguments(const Address& target,
                                 const absl::optional<TlsOptions>& tls) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMs);
  // Without this, channels of one process to one server share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Otherwise http_proxy in the environment catches localhost too.
  if (target.is_local()) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (!target.is_unix()) {
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kClientPingIntervalMs);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kClientPingTimeoutMs);
    // Or only two pings are sent on a stream that is idle.
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  if (tls.has_value() && !tls->server_name.empty()) {
    arguments.SetSslTargetNameOverride(tls->server_name);
  }
  return arguments;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> Credentials(
    const absl::optional<TlsOptions>& tls) {
  if (!tls.has_value()) return grpc::InsecureChannelCredentials();
  grpc::experimental::TlsChannelCredentialsOptions options;
  const bool has_identity = !tls->cert_file.empty();
  const bool has_authorities = !tls->ca_file.empty();
  if (has_identity || has_authorities) {
    const absl::StatusOr<TlsWatch*> watch = TlsWatch::Of(
        {tls->cert_file, tls->key_file, tls->ca_file}, kTlsRefreshSeconds);
    if (!watch.ok()) return watch.status();
    options.set_certificate_provider((*watch)->provider());
  }
  if (has_identity) options.watch_identity_key_cert_pairs();
  if (has_authorities) options.watch_root_certs();
  return grpc::experimental::TlsCredentials(options);
}

// A call that fails at once and makes its channel have the threads on which
// gRPC runs reactions.
void CallForThreads(const std::shared_ptr<grpc::Channel>& channel) {
  struct Call {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckRequest request;
    grpc::health::v1::HealthCheckResponse response;
  };
  auto* call = new Call;
  grpc::health::v1::Health::Stub(channel).async()->Check(
      &call->context, &call->request, &call->response,
      [call](const grpc::Status&) { delete call; });
}

// When the last channel goes, gRPC shuts itself down and waits up to ten
// seconds for a poller of its own, in whoever destroys the channel; and it
// joins the threads that run reactions, which crashes where the last channel
// goes on one of them, with the last call. So all of it is kept, from the first
// channel to the end of the process: by a channel without credentials, on which
// every call fails.
void KeepGrpc() {
  [[maybe_unused]] static const bool kept = [] {
    grpc_init();
    static const auto& channel = *new std::shared_ptr<grpc::Channel>(
        grpc::CreateChannel("", /*creds=*/nullptr));
    CallForThreads(channel);
    return true;
  }();
}

}  // namespace

absl::StatusOr<RemoteServer> RemoteServer::Create(
    const Address& target, const absl::optional<TlsOptions>& tls) {
  KeepGrpc();
  const auto credentials = Credentials(tls);
  if (!credentials.ok()) return credentials.status();
  return RemoteServer(
      target, grpc::CreateCustomChannel(target.ToGrpcUri(), *credentials,
                                        Arguments(target, tls)));
}

absl::Status RemoteServer::Error(absl::StatusCode code,
                                 absl::string_view what) const {
  return absl::Status(code, absl::StrCat("packhoused at ", name_, ": ", what));
}

absl::Status RemoteServer::Error(const grpc::Status& status) const {
  return Error(static_cast<absl::StatusCode>(status.error_code()),
               status.error_message());
}

absl::Status RemoteServer::Silent(absl::Duration limit) const {
  const std::string time = absl::FormatDuration(limit);
  if (channel_->GetState(/*try_to_connect=*/false) ==
      GRPC_CHANNEL_TRANSIENT_FAILURE) {
    return Error(absl::StatusCode::kUnavailable,
                 absl::StrCat("cannot connect, tried for ", time));
  }
  return Error(absl::StatusCode::kDeadlineExceeded,
               absl::StrCat("no answer within ", time));
}

}  // namespace packhouse
