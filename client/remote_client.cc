#include "client/remote_client.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/fork_guard.h"
#include "client/remote_server.h"
#include "client/remote_stream.h"
#include "client/retry.h"
#include "client/stream_id.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "packhouse/policy.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "session/client_session.h"
#include "session/codec/codec.h"
#include "session/messages.h"

namespace packhouse {
namespace {

std::chrono::system_clock::time_point After(absl::Duration time) {
  return absl::ToChronoTime(absl::Now() + time);
}

// The packs of an answer to a plan of `lengths`.
absl::StatusOr<Packs> TakePlan(const RemoteServer& server,
                               const v1::PlanResponse& response,
                               absl::Span<const uint32_t> lengths,
                               const PackSpec& spec) {
  PackList list;
  absl::Status status = Decode(response.packs(), &list);
  if (!status.ok()) return server.Error(status.code(), status.message());
  const uint64_t units = CountIntake(spec, lengths).units;
  if (list.packs.ordinals.size() != units) {
    return server.Error(
        absl::StatusCode::kInternal,
        absl::StrCat("the plan has ", list.packs.ordinals.size(),
                     " units, the list ", units));
  }
  return std::move(list.packs);
}

class RemoteClient final : public Client {
 public:
  RemoteClient(std::vector<Address> targets, const ClientOptions& options)
      : targets_(std::move(targets)), options_(options) {}

  ~RemoteClient() override {
    if (GrpcDiedInFork()) {
      new std::vector<RemoteServer>(std::move(servers_));  // not destroyed
    }
  }

  using Client::OpenStream;
  absl::StatusOr<std::unique_ptr<PackStream>> OpenStream(
      const PackSpec& spec, absl::string_view stream_id) override;
  absl::StatusOr<std::unique_ptr<PackStream>> ResumeStream(
      const PackSpec& spec, absl::string_view state) override;
  absl::StatusOr<Packs> Plan(absl::Span<const uint32_t> lengths,
                             const PackSpec& spec) override;
  absl::Status CheckHealth() override;

 private:
  // The targets, with channels that are made on the first call.
  absl::StatusOr<const std::vector<RemoteServer>*> Servers();

  // One health check of one of them.
  absl::Status CheckHealth(const RemoteServer& server) const;

  const std::vector<Address> targets_;
  const ClientOptions options_;
  // Not an absl::Mutex: all of them share a lock that their destructors take,
  // and a thread of gRPC's may have held it when a child was forked.
  std::once_flag servers_made_;
  std::vector<RemoteServer> servers_;
  absl::Status servers_status_;  // of the files of TLS
};

absl::StatusOr<const std::vector<RemoteServer>*> RemoteClient::Servers() {
  absl::Status status = CheckGrpcAlive();
  if (!status.ok()) return status;
  std::call_once(servers_made_, [this] {
    for (const Address& target : targets_) {
      auto server = RemoteServer::Create(target, options_.tls);
      if (!server.ok()) {
        servers_status_ = server.status();
        return;
      }
      servers_.push_back(*std::move(server));
    }
  });
  if (!servers_status_.ok()) return servers_status_;
  return &servers_;
}

absl::StatusOr<std::unique_ptr<PackStream>> RemoteClient::OpenStream(
    const PackSpec& spec, absl::string_view stream_id) {
  absl::Status status = CheckStream(spec, stream_id);
  if (!status.ok()) return status;
  const auto servers = Servers();
  if (!servers.ok()) return servers.status();
  return StartRemoteStream(
      **servers, spec, options_,
      ClientSession(spec, options_.batch_sequences, StreamId(stream_id)));
}

absl::StatusOr<std::unique_ptr<PackStream>> RemoteClient::ResumeStream(
    const PackSpec& spec, absl::string_view state) {
  absl::Status status = ValidateSpec(spec);
  if (!status.ok()) return status;
  absl::StatusOr<ClientSession> session =
      ClientSession::Restore(spec, options_.batch_sequences, state);
  if (!session.ok()) return session.status();
  const auto servers = Servers();
  if (!servers.ok()) return servers.status();
  return StartRemoteStream(**servers, spec, options_, *std::move(session));
}

absl::StatusOr<Packs> RemoteClient::Plan(absl::Span<const uint32_t> lengths,
                                         const PackSpec& spec) {
  absl::Status status = ValidateSpec(spec);
  if (status.ok()) status = CheckLengths(spec, lengths, 0);
  if (!status.ok()) return status;
  if (lengths.size() > kMaxPlanSequences) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the list has ", lengths.size(), " sequences, one call takes at most ",
        kMaxPlanSequences, "; a stream takes any list"));
  }
  const auto servers = Servers();
  if (!servers.ok()) return servers.status();

  v1::PlanRequest request;
  Encode(spec, request.mutable_spec());
  request.mutable_lengths()->Add(lengths.begin(), lengths.end());
  // The server may work at it for its budget.
  const absl::Duration limit =
      options_.answer_within + absl::Seconds(spec.budget_seconds);
  const absl::Time give_up_at = absl::Now() + options_.unavailable_for;
  Backoff backoff;
  for (size_t at = 0;; at = (at + 1) % (*servers)->size()) {
    const RemoteServer& server = (**servers)[at];
    v1::PlanResponse response;
    grpc::ClientContext context;
    context.set_deadline(After(limit));
    const grpc::Status result = v1::PackerService::Stub(server.channel())
                                    .Plan(&context, request, &response);
    if (result.ok()) return TakePlan(server, response, lengths, spec);
    status = result.error_code() == grpc::DEADLINE_EXCEEDED
                 ? server.Silent(limit)
                 : server.Error(result);
    if (!IsWorthRetry(result)) return status;
    if (options_.unavailable_for == absl::ZeroDuration()) return status;
    const absl::Duration pause = backoff.Next();
    if (absl::Now() + pause >= give_up_at) {
      return NobodyAnswered(**servers, options_.unavailable_for, status);
    }
    absl::SleepFor(pause);
  }
}

absl::Status RemoteClient::CheckHealth() {
  const auto servers = Servers();
  if (!servers.ok()) return servers.status();
  absl::Status status;
  for (const RemoteServer& server : **servers) {
    status = CheckHealth(server);
    if (status.ok()) return status;
  }
  return status;
}

absl::Status RemoteClient::CheckHealth(const RemoteServer& server) const {
  using grpc::health::v1::HealthCheckResponse;
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(v1::PackerService::service_full_name());
  HealthCheckResponse response;
  grpc::ClientContext context;
  context.set_deadline(After(options_.answer_within));
  const grpc::Status result = grpc::health::v1::Health::Stub(server.channel())
                                  .Check(&context, request, &response);
  if (!result.ok()) {
    return server.Error(
        absl::StatusCode::kUnavailable,
        absl::StrCat("health check failed: ", result.error_message()));
  }
  if (response.status() != HealthCheckResponse::SERVING) {
    return server.Error(
        absl::StatusCode::kUnavailable,
        absl::StrCat("it says ", HealthCheckResponse::ServingStatus_Name(
                                     response.status())));
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Client> MakeRemoteClient(std::vector<Address> targets,
                                         const ClientOptions& options) {
  return std::make_unique<RemoteClient>(std::move(targets), options);
}

}  // namespace packhouse
