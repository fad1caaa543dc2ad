// PackerService over gRPC: the shim between the callback API and the sessions.

#ifndef PACKHOUSE_SERVER_PACKER_SERVICE_H_
#define PACKHOUSE_SERVER_PACKER_SERVICE_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "server/log.h"
#include "server/metrics.h"
#include "session/server_session.h"

namespace packhouse {

// Counts who is inside and, once closed, lets nobody in. Thread-safe.
class Gate {
 public:
  // False once closed.
  bool Enter();

  // Undoes an Enter that returned true.
  void Leave();

  void Close();
  bool closed() const;

  // Waits until nobody is inside, up to the limit.
  void AwaitEmpty(absl::Duration limit);

 private:
  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int inside_ ABSL_GUARDED_BY(mutex_) = 0;
};

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

  // Waits until no stream is open, up to the limit.
  void AwaitNoStreams(absl::Duration limit) { streams_.AwaitEmpty(limit); }

 private:
  const SessionLimits limits_;
  const uint32_t max_plan_sequences_;
  const uint64_t incarnation_;
  Metrics* const metrics_;
  Log* const log_;
  Gate streams_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_PACKER_SERVICE_H_
