#include "server/packer_service.h"

#include "absl/status/status.h"
#include "server/pack_reactor.h"
#include "server/plan_reactor.h"
#include "server/refusal.h"

namespace packhouse {
namespace {

// A Pack call that is not let in.
class RefusingReactor final
    : public grpc::ServerBidiReactor<v1::PackRequest, v1::PackResponse> {
 public:
  explicit RefusingReactor(const absl::Status& status) {
    Finish(ToGrpc(status));
  }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerBidiReactor<v1::PackRequest, v1::PackResponse>*
PackerServiceImpl::Pack(grpc::CallbackServerContext* context) {
  PackReactor* reactor = nullptr;
  const absl::Status status = host_->streams.Enter(
      [&] { return reactor = PackReactor::Start(host_, context); });
  if (!status.ok()) return new RefusingReactor(status);
  return reactor;
}

grpc::ServerUnaryReactor* PackerServiceImpl::Plan(
    grpc::CallbackServerContext* context, const v1::PlanRequest* request,
    v1::PlanResponse* response) {
  return new PlanReactor(host_, context, *request, response);
}

}  // namespace packhouse
