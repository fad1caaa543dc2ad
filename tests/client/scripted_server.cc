#include "tests/client/scripted_server.h"

#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "session/codec/codec.h"

namespace packhouse {
namespace {

void WriteAll(const std::vector<Response>& responses,
              ScriptedServer::Call* call) {
  for (const Response& response : responses) {
    v1::PackResponse message;
    Encode(response, &message);
    call->Write(message);
  }
}

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message()));
}

}  // namespace

ScriptedServer::ScriptedServer(const std::string& address, Script script)
    : script_(std::move(script)) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

ScriptedServer::~ScriptedServer() {
  server_->Shutdown(absl::ToChronoTime(absl::Now()));
}

grpc::Status ScriptedServer::Pack(grpc::ServerContext*, Call* call) {
  ++calls_;
  v1::PackRequest open;
  if (!call->Read(&open) || !open.has_open()) {
    return {grpc::StatusCode::FAILED_PRECONDITION, "no `open`"};
  }
  return script_(call, open);
}

grpc::Status ServeCall(
    ScriptedServer::Call* call, const v1::PackRequest& open,
    const std::function<absl::optional<grpc::Status>(
        ServerSession*, std::vector<Response>*)>& after_input) {
  ServerSession session(SessionLimits(), /*server_incarnation=*/1);
  std::vector<Response> responses;
  absl::Status status = session.Receive(Decode(open), &responses);
  if (!status.ok()) return ToGrpc(status);
  WriteAll(responses, call);
  v1::PackRequest request;
  while (!session.ended() && call->Read(&request)) {
    responses.clear();
    status = session.Receive(Decode(request), &responses);
    if (!status.ok()) return ToGrpc(status);
    const absl::optional<grpc::Status> end = after_input(&session, &responses);
    WriteAll(responses, call);
    if (end.has_value()) return *end;
  }
  return grpc::Status::OK;
}

}  // namespace packhouse
