// The one door for programs: streams of lengths in, packs out, with the packer
// in this process or in a sidecar. The target is the only difference.
//
//   absl::StatusOr<std::unique_ptr<Client>> client = Client::Create({target});
//   absl::StatusOr<std::unique_ptr<PackStream>> stream =
//       (*client)->OpenStream(spec);
//   for (absl::Span<const uint32_t> lengths : source) {
//     CHECK_OK((*stream)->Add(lengths));
//     Use(*(*stream)->Take());
//   }
//   CHECK_OK((*stream)->End());
//   Use(*(*stream)->Take());
//
// Lengths travel in batches and many batches are on the way at once, so Add
// seldom waits. Packs are the same, byte for byte, whatever the sizes of the
// pieces and batches and wherever the packer runs.

#ifndef PACKHOUSE_CLIENT_H_
#define PACKHOUSE_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"

namespace packhouse {

// How to speak TLS to a packhoused. Files are PEM and are read again within a
// minute when they change: connections that are made later use the new ones.
struct TlsOptions {
  // The authorities that a server's certificate may come from; empty: those
  // that this system trusts.
  std::string ca_file;

  // What this client shows a server that asks who it is: its certificate, then
  // its issuers, and the key, without a password. Both or none.
  std::string cert_file;
  std::string key_file;

  // The name that the server's certificate must have; empty: the target's host.
  // For targets that are addresses, tunnels or balancers.
  std::string server_name;
};

struct ClientOptions {
  // Where the packer runs: empty for this process; "unix:PATH", "HOST:PORT" or
  // "[IPV6]:PORT" for a packhoused.
  std::string target;

  // Sequences that are gathered into one message: 1 to 65536. One message
  // costs about 5 us of CPU whatever is in it, so hundreds to thousands.
  uint32_t batch_sequences = 4096;

  // The limit of every single wait: for the connection, for credit, for an
  // answer. A call that hears nothing from the server for so long returns
  // DEADLINE_EXCEEDED. More than 0 and finite.
  absl::Duration wait_limit = absl::Seconds(30);

  // Set to speak TLS, as a server on a TCP address may want; else plaintext.
  absl::optional<TlsOptions> tls = absl::nullopt;
};

// One stream of sequences. Thread-safe, but Add, Flush and End take effect in
// the order in which they are called, so one thread should give the lengths.
//
// Errors of a stream in a sidecar: UNAVAILABLE when the server cannot be
// reached or goes away, DEADLINE_EXCEEDED when a wait reached its limit, other
// codes as the server said. Such an error is final: every later call returns
// it again, and the stream's sequences that are not in a pack that was taken
// have to be packed anew.
class PackStream {
 public:
  // Abandons the stream if it has not ended: the server drops it. Never waits
  // for the server.
  virtual ~PackStream() = default;

  // Gives the next sequences. INVALID_ARGUMENT as CheckLengths says, and then
  // none of `lengths` is taken and the stream lives. FAILED_PRECONDITION after
  // End. Waits while the server's credit is used up and a bounded number of
  // batches is ahead of it.
  virtual absl::Status Add(absl::Span<const uint32_t> lengths) = 0;

  // Closes the packer's window at this place. Does not wait for the packs.
  // FAILED_PRECONDITION after End.
  virtual absl::Status Flush() = 0;

  // Sends what is gathered and waits until everything given so far has been
  // answered: every pack that can be decided is then ready to be taken.
  virtual absl::Status Wait() = 0;

  // Ends the stream and waits for its last pack. A second call returns what
  // the first did.
  virtual absl::Status End() = 0;

  // The packs decided since the last call, in release order; none if there are
  // none. Does not wait. Packs that arrived before an error are handed out
  // first, then the error. Packs that are not taken are kept, whatever memory
  // that takes: 8 bytes a unit and 8 a pack, and 4 a unit where some begin
  // behind the first token of their sequence.
  virtual absl::StatusOr<Packs> Take() = 0;
};

// Thread-safe. Streams may outlive their client.
//
// Nothing of gRPC starts before the first call, so a client may be created in
// a process that then forks, and be used in the children. Once gRPC runs in a
// process it works in no child that is forked later: there, calls to a
// packhoused return FAILED_PRECONDITION.
class Client {
 public:
  // INVALID_ARGUMENT where an option is out of range, the target has no known
  // form or a file of TLS cannot be used. Does not connect yet.
  static absl::StatusOr<std::unique_ptr<Client>> Create(
      const ClientOptions& options);

  virtual ~Client() = default;

  // Opens a stream. INVALID_ARGUMENT as ValidateSpec says or where the server
  // refuses the spec. A server that is not there yet is waited for, up to
  // wait_limit, then UNAVAILABLE.
  virtual absl::StatusOr<std::unique_ptr<PackStream>> OpenStream(
      const PackSpec& spec) = 0;

  // Packs a whole list in one call. Errors as Packer::Add and OpenStream say;
  // RESOURCE_EXHAUSTED for a list that is longer than the server takes in one
  // call (a stream takes any).
  virtual absl::StatusOr<Packs> Plan(absl::Span<const uint32_t> lengths,
                                     const PackSpec& spec) = 0;

  // OK when the packer can serve: the server answers the standard gRPC health
  // check with SERVING; in process always. UNAVAILABLE otherwise.
  virtual absl::Status CheckHealth() = 0;
};

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_H_
