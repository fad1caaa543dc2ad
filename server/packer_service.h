// PackerService over gRPC: the shim between the callback API and the sessions.

#ifndef PACKHOUSE_SERVER_PACKER_SERVICE_H_
#define PACKHOUSE_SERVER_PACKER_SERVICE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "grpcpp/grpcpp.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/open_streams.h"
#include "session/server_session.h"

namespace packhouse {

class PackerServiceImpl final : public v1::PackerService::CallbackService {
 public:
  // `metrics` and `log` (which may be null) must outlive all calls.
  PackerServiceImpl(const SessionLimits& limits, uint32_t max_plan_sequences,
                    Metrics* metrics, Log* log);

  grpc::ServerBidiReactor<v1::PackRequest, v1::PackResponse>* Pack(
      grpc::CallbackServerContext* context) override;

  grpc::ServerUnaryReactor* Plan(grpc::CallbackServerContext* context,
                                 const v1::PlanRequest* request,
                                 v1::PlanResponse* response) override;

  // Refuses calls that come from here on. A stream that breaks off later was
  // cut by the server.
  void Close() { streams_.Close(); }

  // True if no stream is open; waits for that up to the limit.
  bool AwaitNoStreams(absl::Duration limit) const {
    return streams_.AwaitNone(limit);
  }

  // Ends all open streams with UNAVAILABLE, after what is queued for them.
  void EndStreams();

 private:
  // Errors as PackerService.Plan says.
  absl::StatusOr<Packs> PlanWithin(absl::Span<const uint32_t> lengths,
                                   const PackSpec& spec) const;

  const SessionLimits limits_;
  const uint32_t max_plan_sequences_;
  const uint64_t incarnation_;
  Metrics* const metrics_;
  Log* const log_;
  OpenStreams streams_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_PACKER_SERVICE_H_
