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
// pieces and batches, wherever the packer runs, and however often its server
// dies: a stream goes on at the next server, or at the same one when it is
// back, and loses and repeats nothing.
//
// A program that may die itself saves the stream with its own work,
//
//   Write(checkpoint, *(*stream)->Save());
//
// and, started again, goes on with ResumeStream in place of OpenStream.

#ifndef PACKHOUSE_CLIENT_H_
#define PACKHOUSE_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "packhouse/packs.h"
#include "packhouse/position.h"
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
  // "[IPV6]:PORT" for a packhoused. Several of these with commas between them,
  // at most kMaxTargets, are tried in their order, again and again: the first
  // that answers has the stream. (So no path may have a comma.)
  std::string target;

  // Sequences that are gathered into one message: 1 to 65536. One message
  // costs about 5 us of CPU whatever is in it, so hundreds to thousands.
  uint32_t batch_sequences = 4096;

  // How long a server that owes an answer may be silent, from the connection
  // to it on. It is given up then and the next target is tried. More than 0
  // and finite.
  absl::Duration answer_within = absl::Seconds(10);

  // How long the targets are tried while none of them answers anything. 0: the
  // first failure is final. Finite.
  absl::Duration unavailable_for = absl::Seconds(60);

  // A stream that was given nothing for so long is flushed, so that no sequence
  // waits for its pack longer than until others come. More than 0; infinite:
  // never. (Packs then depend on when the sequences were given.)
  absl::Duration flush_after = absl::InfiniteDuration();

  // Set to speak TLS, as a server on a TCP address may want; else plaintext.
  absl::optional<TlsOptions> tls = absl::nullopt;
};

inline constexpr size_t kMaxTargets = 16;

// One stream of sequences. Thread-safe, but Add, Flush and End take effect in
// the order in which they are called, so one thread should give the lengths.
//
// Errors of a stream in a sidecar. Where no server answered for
// unavailable_for: DEADLINE_EXCEEDED if the last of them was silent, else
// UNAVAILABLE. ABORTED where another program has the stream now. Other codes as
// a server said, and INTERNAL where what it said cannot be. Such an error is
// final: every later call returns it again, but for Save: what was saved can be
// resumed.
class PackStream {
 public:
  // Abandons the stream if it has not ended: the server drops it. Never waits
  // for the server.
  virtual ~PackStream() = default;

  // Gives the next sequences. INVALID_ARGUMENT as CheckLengths says, and then
  // none of `lengths` is taken and the stream lives. FAILED_PRECONDITION after
  // End. Waits while there is no server, or no credit of it, and a bounded
  // number of batches is ahead.
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

  // All that ResumeStream needs to go on from here: what was given, and what
  // was *taken* (a pack that is ready and was not taken is taken after the
  // resumption). Some 6 bytes for each sequence that waits, 2 for each that was
  // given since the server's last snapshot (up to 65536, or 4 windows), and the
  // packs that were not taken. Does not wait.
  virtual absl::StatusOr<std::string> Save() = 0;

  // Where the stream is, as Save would write it now: from where on a program
  // that resumes it has to read its source again.
  virtual absl::StatusOr<StreamPosition> position() = 0;
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
  // unavailable_for.
  //
  // `stream_id` of up to 128 bytes names the stream. Of two programs that have
  // one stream, the later keeps it and the other gets ABORTED, as far as they
  // meet on a server. Empty: 16 random bytes in hexadecimal.
  absl::StatusOr<std::unique_ptr<PackStream>> OpenStream(const PackSpec& spec) {
    return OpenStream(spec, /*stream_id=*/"");
  }
  virtual absl::StatusOr<std::unique_ptr<PackStream>> OpenStream(
      const PackSpec& spec, absl::string_view stream_id) = 0;

  // Goes on with the stream whose Save wrote `state`, under its name and
  // wherever it was packed. Its packs follow those that were taken before, as
  // if nothing had happened. INVALID_ARGUMENT where the state is damaged, of
  // another spec, or of a version that this build or the server does not know.
  virtual absl::StatusOr<std::unique_ptr<PackStream>> ResumeStream(
      const PackSpec& spec, absl::string_view state) = 0;

  // Packs a whole list in one call. Errors as Packer::Add and OpenStream say;
  // RESOURCE_EXHAUSTED for a list that is longer than the server takes in one
  // call (a stream takes any).
  virtual absl::StatusOr<Packs> Plan(absl::Span<const uint32_t> lengths,
                                     const PackSpec& spec) = 0;

  // OK when the packer can serve: one of the targets answers the standard gRPC
  // health check with SERVING; in process always. UNAVAILABLE otherwise, as the
  // last target said.
  virtual absl::Status CheckHealth() = 0;
};

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_H_
