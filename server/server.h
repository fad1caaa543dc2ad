// A packhoused as an object: what the program runs, and what a test can start
// in its own process.
//
//   ServerOptions options;
//   options.listen = {"127.0.0.1:0"};
//   absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options);
//   Connect((*server)->addresses()[0]);  // with the port the kernel chose
//
// No gRPC type is in sight, so that whoever only starts a server need not know
// how it speaks.

#ifndef PACKHOUSE_SERVER_SERVER_H_
#define PACKHOUSE_SERVER_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "session/messages.h"
#include "session/server_session.h"

namespace packhouse {

class Log;  // server/log.h

struct ServerOptions {
  // Where to serve, at least one: "unix:PATH" or "HOST:PORT". Port 0 lets the
  // kernel choose; IPv6 as "[::1]:PORT".
  std::vector<std::string> listen;

  // "HOST:PORT" of the HTTP pages /metrics and /healthz; empty for none. IPv6
  // needs a civetweb that was built with it, which Debian's is not.
  std::string http;

  // Plaintext gRPC on a TCP address that other machines can reach is refused
  // without this.
  bool insecure = false;

  // What a stream and a Plan call may ask for.
  SessionLimits limits;
  uint32_t max_plan_sequences = kMaxPlanSequences;

  // Where streams that end in an error are told of; may be null. Must outlive
  // the server.
  Log* log = nullptr;
};

// What a server has done since it started.
struct ServerTotals {
  uint64_t streams = 0;  // started
  uint64_t sequences = 0;
  uint64_t tokens = 0;
  uint64_t packs = 0;
  uint64_t cut_streams = 0;  // still open when the grace was over
};

// Thread-safe.
class Server {
 public:
  // Serves on all addresses, or on none and returns an error that names the
  // address at fault and the reason: INVALID_ARGUMENT where an address is not
  // well-formed or not allowed, FAILED_PRECONDITION where it cannot be bound
  // (in use, no such directory, a file that is not a socket, ...).
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const ServerOptions& options);

  // Stops without grace if Stop was not called.
  virtual ~Server() = default;

  // The addresses of `options.listen`, in that order, with the real ports: each
  // is a target that a client can connect to.
  virtual const std::vector<std::string>& addresses() const = 0;

  // "HOST:PORT" of the HTTP pages with the real port; empty without them.
  virtual const std::string& http_address() const = 0;

  // Tells health checks NOT_SERVING, answers new calls with UNAVAILABLE, waits
  // up to `grace` for open streams to end and ends the others with UNAVAILABLE,
  // for which it takes at most a second more. The HTTP pages answer until then
  // and are closed at last. A second call does nothing.
  virtual void Stop(absl::Duration grace) = 0;

  virtual ServerTotals totals() const = 0;
};

// Version of this build, such as "0.1.0".
absl::string_view ServerVersion();

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_SERVER_H_
