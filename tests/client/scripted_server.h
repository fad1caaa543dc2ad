// A PackerService whose answers a test writes itself.

#ifndef PACKHOUSE_TESTS_CLIENT_SCRIPTED_SERVER_H_
#define PACKHOUSE_TESTS_CLIENT_SCRIPTED_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "packhouse/v1/packhouse.grpc.pb.h"
#include "session/server_session.h"

namespace packhouse {

class ScriptedServer final : public v1::PackerService::Service {
 public:
  using Call = grpc::ServerReaderWriter<v1::PackResponse, v1::PackRequest>;

  // What becomes of a call behind its `open`.
  using Script = std::function<grpc::Status(Call*, const v1::PackRequest&)>;

  ScriptedServer(const std::string& address, Script script);
  ~ScriptedServer() override;

  // Pack calls so far.
  int calls() const { return calls_; }

  grpc::Status Pack(grpc::ServerContext*, Call* call) override;

 private:
  const Script script_;
  std::atomic<int> calls_{0};
  std::unique_ptr<grpc::Server> server_;
};

// Serves a call as a packhoused does, and asks `after_input` behind each input
// that is answered whether the call is to end there.
grpc::Status ServeCall(
    ScriptedServer::Call* call, const v1::PackRequest& open,
    const std::function<absl::optional<grpc::Status>(
        ServerSession*, std::vector<Response>*)>& after_input);

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_CLIENT_SCRIPTED_SERVER_H_
