// One Plan call: it waits for its turn in the pool and is planned there.

#ifndef PACKHOUSE_SERVER_PLAN_REACTOR_H_
#define PACKHOUSE_SERVER_PLAN_REACTOR_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "packhouse/packs.h"
#include "packhouse/v1/packhouse.pb.h"
#include "server/service_host.h"
#include "server/work_pool.h"

namespace packhouse {

// Bytes that a plan of so many units takes at most, by any rule.
uint64_t PlanMemoryBound(uint64_t units);

// Owns itself until gRPC is done with it.
class PlanReactor final : public grpc::ServerUnaryReactor {
 public:
  // `request` and `response` live as long as the call.
  PlanReactor(ServiceHost* host, const grpc::CallbackServerContext* context,
              const v1::PlanRequest& request, v1::PlanResponse* response);

  void OnCancel() override;
  void OnDone() override { delete this; }

 private:
  // The plan, which may go on when its call is gone: its lengths are its own.
  class Job;

  // Hands the job to the pool.
  absl::Status Submit();

  // `packs` are of `request_`.
  void Answer(const absl::StatusOr<Packs>& packs);

  ServiceHost* const host_;
  const grpc::CallbackServerContext* const context_;
  const v1::PlanRequest& request_;
  v1::PlanResponse* const response_;
  std::shared_ptr<Job> job_;  // null where it was refused
  absl::optional<WorkPool::Ticket> ticket_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_PLAN_REACTOR_H_
