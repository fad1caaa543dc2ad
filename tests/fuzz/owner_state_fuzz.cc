// The saved state of a stream from anyone: refused, or a stream that does not
// lock, whatever a server makes of it.

#include <string>
#include <utility>
#include <vector>

#include "packing/seal.h"
#include "session/client_session.h"
#include "session/server_session.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace packhouse;
  FuzzBytes bytes(data, size);
  const PackSpec spec = TakeSpec(&bytes);
  std::string state = BeginState(/*version=*/1, spec).Take();
  state.append(bytes.Rest().data(), bytes.Rest().size());

  absl::StatusOr<ClientSession> session =
      ClientSession::Restore(spec, 16, SealState(state));
  if (!session.ok()) {
    Require(absl::IsInvalidArgument(session.status()),
            session.status().ToString());
    return 0;
  }
  const std::string saved = session->Save();
  absl::StatusOr<ClientSession> again = ClientSession::Restore(spec, 16, saved);
  Require(again.ok() && again->Save() == saved, "a state that does not keep");

  session->Take();
  session->Add({1}).IgnoreError();
  session->End();
  session->Connect(1);
  ServerSession server(SessionLimits(), 1);
  for (absl::optional<Request> request = session->NextRequest();
       request.has_value(); request = session->NextRequest()) {
    std::vector<Response> responses;
    if (!server.Receive(*request, &responses).ok()) return 0;
    for (const Response& response : responses) {
      if (!session->Receive(response).ok()) return 0;
    }
  }
  Require(session->ended() || !session->needs_connection(), "the stream locks");
  return 0;
}
