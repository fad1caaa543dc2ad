// PackerService over gRPC: lets calls in and hands each to its reactor.

#ifndef PACKHOUSE_SERVER_PACKER_SERVICE_H_
#define PACKHOUSE_SERVER_PACKER_SERVICE_H_

#include "grpcpp/grpcpp.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "server/service_host.h"

namespace packhouse {

class PackerServiceImpl final : public v1::PackerService::CallbackService {
 public:
  // `host` must outlive all calls.
  explicit PackerServiceImpl(ServiceHost* host) : host_(host) {}

  grpc::ServerBidiReactor<v1::PackRequest, v1::PackResponse>* Pack(
      grpc::CallbackServerContext* context) override;

  grpc::ServerUnaryReactor* Plan(grpc::CallbackServerContext* context,
                                 const v1::PlanRequest* request,
                                 v1::PlanResponse* response) override;

 private:
  ServiceHost* const host_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_PACKER_SERVICE_H_
