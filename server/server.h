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

#include <cstddef>
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

// Files are PEM and are read again when they change: connections that are made
// later use the new ones. Names of client certificates are DNS and URI names,
// or the common name where a certificate has no alternative names.
struct TlsServerOptions {
  std::string cert_file;  // the server's certificate, then its issuers
  std::string key_file;

  // Clients must show a certificate of one of these authorities; empty: any
  // client is served.
  std::string client_ca_file;

  // Of these clients only the named ones may call; empty: all may.
  std::vector<std::string> allow_clients;

  // How often the files are looked at, more than 0.
  uint32_t refresh_seconds = 60;

  // True if anything is asked for, rightly or not.
  bool is_set() const {
    return !cert_file.empty() || !key_file.empty() || !client_ca_file.empty() ||
           !allow_clients.empty();
  }
};

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

  // Of all TCP addresses, once it is set. Unix sockets are plaintext: the next
  // two say who may connect.
  TlsServerOptions tls;

  // Mode of Unix sockets, up to 0777; to connect takes the right to write.
  uint32_t socket_mode = 0660;

  // Their group, by name or number; empty: as the system chooses. A folder that
  // is missing is created for each socket, with mode 0770 and this group.
  std::string socket_group;

  // What a stream and a Plan call may ask for.
  SessionLimits limits;
  uint32_t max_plan_sequences = kMaxPlanSequences;

  // What all of them may have together: streams that are open, the sum of the
  // most memory that they and the plans can come to take, and plans that wait
  // for a thread.
  size_t max_streams = 4096;
  uint64_t max_memory_bytes = uint64_t{2} << 30;
  size_t max_waiting_plans = 64;

  // Threads that do heavy packing; 0: as many as there are cores for this
  // process, and at least 2, so that no stream waits for a plan.
  int packing_threads = 0;

  // A stream ends, resumable, when nothing came on it for so long; one that has
  // sent no `open` after the shorter of both, since nothing of it is lost.
  absl::Duration idle_timeout = absl::Hours(1);
  absl::Duration open_timeout = absl::Seconds(30);

  // Where streams that end in an error are told of; may be null. Must outlive
  // the server.
  Log* log = nullptr;
};

// What a server has done since it started.
struct ServerTotals {
  uint64_t streams = 0;       // started
  uint64_t open_streams = 0;  // of these, now
  uint64_t sequences = 0;
  uint64_t tokens = 0;
  uint64_t packs = 0;
  uint64_t drained_streams = 0;  // left by their client as it was told to
  uint64_t cut_streams = 0;      // still open when the grace was over
};

// Thread-safe.
class Server {
 public:
  // Serves on all addresses, or on none and returns an error that names the
  // address, file or option at fault and the reason: INVALID_ARGUMENT where it
  // is not well-formed, not allowed or cannot be used, FAILED_PRECONDITION
  // where an address cannot be bound (in use, a file that is not a socket, ...)
  // or a socket cannot be given its group.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const ServerOptions& options);

  // Stops without grace if Stop was not called. Waits for what is being packed,
  // be it for nobody any more.
  virtual ~Server() = default;

  // The addresses of `options.listen`, in that order, with the real ports: each
  // is a target that a client can connect to.
  virtual const std::vector<std::string>& addresses() const = 0;

  // "HOST:PORT" of the HTTP pages with the real port; empty without them.
  virtual const std::string& http_address() const = 0;

  // Tells health checks NOT_SERVING, answers new calls with UNAVAILABLE, gives
  // each open stream a snapshot and tells it to go elsewhere, waits up to
  // `grace` for them to end and ends the others with UNAVAILABLE, for which it
  // takes at most a second more. The HTTP pages answer until then and are
  // closed at last. A second call does nothing.
  virtual void Stop(absl::Duration grace) = 0;

  virtual ServerTotals totals() const = 0;

  // Threads that do heavy packing.
  virtual int packing_threads() const = 0;
};

// Version of this build, such as "0.1.0".
absl::string_view ServerVersion();

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_SERVER_H_
