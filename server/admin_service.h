// AdminService over gRPC: what the server says of itself.

#ifndef PACKHOUSE_SERVER_ADMIN_SERVICE_H_
#define PACKHOUSE_SERVER_ADMIN_SERVICE_H_

#include "grpcpp/grpcpp.h"
#include "packhouse/v1/admin.grpc.pb.h"
#include "server/service_host.h"

namespace packhouse {

class AdminServiceImpl final : public v1::AdminService::CallbackService {
 public:
  // `host` must outlive all calls.
  explicit AdminServiceImpl(const ServiceHost* host) : host_(host) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest* request,
                                      v1::GetStatusResponse* response) override;

 private:
  const ServiceHost* const host_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_ADMIN_SERVICE_H_
