#include "client/remote_client.h"

#include <chrono>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "client/fork_guard.h"
#include "client/pack_call.h"
#include "client/remote_server.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "packhouse/policy.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "session/codec/codec.h"
#include "session/messages.h"

namespace packhouse {
namespace {

// Keeps a call out of forked children.
class RemoteStream final : public PackStream {
 public:
  explicit RemoteStream(std::unique_ptr<PackCall> call)
      : call_(std::move(call)) {}

  ~RemoteStream() override {
    // Not destroyed while gRPC may still touch it, or where gRPC is dead.
    if (GrpcDiedInFork() || !call_->Close()) {
      static_cast<void>(call_.release());
    }
  }

  absl::Status Add(absl::Span<const uint32_t> lengths) override {
    absl::Status status = CheckGrpcAlive();
    return status.ok() ? call_->Add(lengths) : status;
  }

  absl::Status Flush() override {
    absl::Status status = CheckGrpcAlive();
    return status.ok() ? call_->Flush() : status;
  }

  absl::Status Wait() override {
    absl::Status status = CheckGrpcAlive();
    return status.ok() ? call_->Wait() : status;
  }

  absl::Status End() override {
    absl::Status status = CheckGrpcAlive();
    return status.ok() ? call_->End() : status;
  }

  absl::StatusOr<Packs> Take() override {
    absl::Status status = CheckGrpcAlive();
    if (!status.ok()) return status;
    return call_->Take();
  }

 private:
  std::unique_ptr<PackCall> call_;
};

class RemoteClient final : public Client {
 public:
  RemoteClient(Address target, const ClientOptions& options)
      : target_(std::move(target)), options_(options) {}

  ~RemoteClient() override {
    if (GrpcDiedInFork()) static_cast<void>(server_.release());
  }

  absl::StatusOr<std::unique_ptr<PackStream>> OpenStream(
      const PackSpec& spec) override;
  absl::StatusOr<Packs> Plan(absl::Span<const uint32_t> lengths,
                             const PackSpec& spec) override;
  absl::Status CheckHealth() override;

 private:
  // The server, with a channel that is made on the first call.
  absl::StatusOr<RemoteServer> Server();

  const Address target_;
  const ClientOptions options_;
  // Not an absl::Mutex: all of them share a lock that their destructors take,
  // and a thread of gRPC's may have held it when a child was forked.
  std::once_flag server_made_;
  std::unique_ptr<const RemoteServer> server_;
};

// Of a call that the server may work at for some time.
std::chrono::system_clock::time_point Deadline(
    const RemoteServer& server, absl::Duration work = absl::ZeroDuration()) {
  return absl::ToChronoTime(absl::Now() + work + server.wait_limit());
}

// One health check of PackerService; it does not wait for a server.
grpc::Status CallHealth(const RemoteServer& server,
                        std::chrono::system_clock::time_point deadline,
                        grpc::health::v1::HealthCheckResponse* response) {
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(v1::PackerService::service_full_name());
  grpc::ClientContext context;
  context.set_deadline(deadline);
  return grpc::health::v1::Health::Stub(server.channel())
      .Check(&context, request, response);
}

// Adds the reason why there is no connection to the error of a call that has
// waited for one: only a call that does not wait is told it.
absl::Status WithCause(const RemoteServer& server, const absl::Status& error) {
  constexpr absl::Duration kLimit = absl::Seconds(1);
  if (!absl::IsUnavailable(error) ||
      server.channel()->GetState(/*try_to_connect=*/false) !=
          GRPC_CHANNEL_TRANSIENT_FAILURE) {
    return error;
  }
  grpc::health::v1::HealthCheckResponse response;
  const grpc::Status cause =
      CallHealth(server, absl::ToChronoTime(absl::Now() + kLimit), &response);
  if (cause.error_code() != grpc::UNAVAILABLE) return error;
  return absl::UnavailableError(
      absl::StrCat(error.message(), ": ", cause.error_message()));
}

absl::StatusOr<RemoteServer> RemoteClient::Server() {
  absl::Status status = CheckGrpcAlive();
  if (!status.ok()) return status;
  std::call_once(server_made_, [this] {
    server_ = std::make_unique<const RemoteServer>(target_, options_.wait_limit,
                                                   options_.tls);
  });
  return *server_;
}

absl::StatusOr<std::unique_ptr<PackStream>> RemoteClient::OpenStream(
    const PackSpec& spec) {
  absl::Status status = ValidateSpec(spec);
  if (!status.ok()) return status;
  absl::StatusOr<RemoteServer> server = Server();
  if (!server.ok()) return server.status();
  auto call =
      std::make_unique<PackCall>(*server, spec, options_.batch_sequences);
  PackCall& opening = *call;
  auto stream = std::make_unique<RemoteStream>(std::move(call));
  status = opening.WaitOpened();
  if (!status.ok()) return WithCause(*server, status);
  return stream;
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
  absl::StatusOr<RemoteServer> server = Server();
  if (!server.ok()) return server.status();

  v1::PlanRequest request;
  Encode(spec, request.mutable_spec());
  request.mutable_lengths()->Add(lengths.begin(), lengths.end());
  v1::PlanResponse response;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(Deadline(*server, absl::Seconds(spec.budget_seconds)));
  const grpc::Status result = v1::PackerService::Stub(server->channel())
                                  .Plan(&context, request, &response);
  if (result.error_code() == grpc::DEADLINE_EXCEEDED) {
    return WithCause(*server, server->Late("answer to a plan"));
  }
  if (!result.ok()) return server->Error(result);

  PackList list;
  status = Decode(response.packs(), &list);
  if (!status.ok()) return server->Error(status.code(), status.message());
  const uint64_t units = CountIntake(spec, lengths).units;
  if (list.packs.ordinals.size() != units) {
    return server->Error(
        absl::StatusCode::kInternal,
        absl::StrCat("the plan has ", list.packs.ordinals.size(),
                     " units, the list ", units));
  }
  return std::move(list.packs);
}

absl::Status RemoteClient::CheckHealth() {
  absl::StatusOr<RemoteServer> server = Server();
  if (!server.ok()) return server.status();
  grpc::health::v1::HealthCheckResponse response;
  const grpc::Status result = CallHealth(*server, Deadline(*server), &response);
  if (!result.ok()) {
    return server->Error(
        absl::StatusCode::kUnavailable,
        absl::StrCat("health check failed: ", result.error_message()));
  }
  if (response.status() != grpc::health::v1::HealthCheckResponse::SERVING) {
    return server->Error(
        absl::StatusCode::kUnavailable,
        absl::StrCat("it says ",
                     grpc::health::v1::HealthCheckResponse::ServingStatus_Name(
                         response.status())));
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Client> MakeRemoteClient(Address target,
                                         const ClientOptions& options) {
  return std::make_unique<RemoteClient>(std::move(target), options);
}

}  // namespace packhouse
