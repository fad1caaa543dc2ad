// The client's end of one Pack stream, without I/O.
//
// The owner gives lengths, flushes and the end; the transport asks for the next
// request to send and feeds the responses; packs come out. Requests are handed
// out in order and only within the server's credit. Nothing that the server
// says is believed: every unit must come exactly once, and the totals must
// agree.
//
// The stream outlives its connections. The session keeps the last snapshot that
// a server handed out and the lengths after it; a new connection begins with
// both, so that any server goes on where another one died. Lengths are kept as
// one log and cut into batches as they are sent: how they are cut changes
// nothing, so a second server may get other batches than the first.
//
// The same state, with the packs that the owner has not taken, is what Save
// writes: an owner that dies goes on from there.
//
// Thread-compatible.

#ifndef PACKHOUSE_SESSION_CLIENT_SESSION_H_
#define PACKHOUSE_SESSION_CLIENT_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "packhouse/packs.h"
#include "packhouse/position.h"
#include "packhouse/spec.h"
#include "session/length_log.h"
#include "session/messages.h"
#include "session/unit_ledger.h"

namespace packhouse {

class ClientSession {
 public:
  // Requires a valid spec, batch_sequences from 1 to kMaxBatchSequences and a
  // stream_id of up to kMaxStreamIdBytes. A server that allows smaller batches
  // gets smaller ones.
  ClientSession(const PackSpec& spec, uint32_t batch_sequences,
                std::string stream_id);

  // The session whose Save wrote `state`, with the same name. INVALID_ARGUMENT
  // where the state is damaged, of another spec, or of a version that this
  // build does not know.
  static absl::StatusOr<ClientSession> Restore(const PackSpec& spec,
                                               uint32_t batch_sequences,
                                               absl::string_view state);

  // --- The owner's side ---------------------------------------------------

  // Gathers the next sequences. Never waits: bound what is given by
  // unsent_sequences(). INVALID_ARGUMENT as CheckLengths says and
  // FAILED_PRECONDITION after End; on error nothing has changed.
  absl::Status Add(absl::Span<const uint32_t> lengths);

  // Closes the packer's window here; costs no message where no sequence was
  // given since the last one. FAILED_PRECONDITION after End.
  absl::Status Flush();

  // No more input follows. A second call does nothing.
  void End();

  // What is gathered may be sent, also where it does not fill a batch.
  void Push() { pushed_sequences_ = given_sequences(); }

  // True when every input that was pushed has been answered (and, after End,
  // the stream has ended): no response is to come.
  bool settled() const;

  // True once a server has said that the stream is open.
  bool opened() const { return was_opened_; }

  // True once a server has said that the stream has ended.
  bool ended() const { return ended_; }

  // Sequences given so far: the ordinal of the next.
  uint64_t given_sequences() const { return ledger_.sequences(); }

  // True where sequences were given after the last flush, and no End.
  bool has_unflushed() const {
    return !end_given_ && given_sequences() > flushed_sequences_;
  }

  // Sequences given that no request of this connection carries.
  uint64_t unsent_sequences() const {
    return given_sequences() - sent_.sequences;
  }

  // Lengths that are kept because no snapshot covers them, or a moment longer.
  uint64_t kept_sequences() const { return log_.lengths().size(); }

  // The packs received since the last call, in release order.
  Packs Take();

  // What Take has handed out counts as taken.
  StreamPosition position() const;

  // All that is needed to go on: O(window) bytes for the snapshot, and those of
  // the lengths after it and of the packs that were not taken.
  std::string Save() const;

  // --- The transport's side -----------------------------------------------

  // A connection begins: what was sent and not answered is forgotten, and the
  // next request is `open`. `incarnation` must grow from call to call, those of
  // earlier processes with the same stream included.
  void Connect(uint64_t incarnation);

  // True while there is a reason to have a connection: the stream was never
  // opened, or there is something to send or to hear.
  bool needs_connection() const;

  // True when inputs were sent on this connection that are not answered, or
  // `open` is not.
  bool awaits_answer() const;

  // The number of the last input that was answered, or is covered by the
  // snapshot: grows with each answer of a connection.
  uint64_t answered_number() const { return credit_.received_number; }

  // True when the server has said that it is about to stop.
  bool draining() const { return draining_; }

  // The next request to send; none while there is nothing to send or no
  // credit for it, and none after Receive has failed. The first one of a
  // connection is `open`.
  absl::optional<Request> NextRequest();

  // Takes one response of this connection. A status other than OK is final, and
  // every later call returns it again: what the server sent breaks the protocol
  // (INTERNAL: packs out of order or with ordinals that were never sent or
  // twice, credit that shrinks, ...) or it refused a batch (its status).
  absl::Status Receive(const Response& response);

 private:
  // What a server knows of the stream, or knew.
  struct Progress {
    uint64_t sequences = 0;
    uint64_t flushes = 0;
  };

  // The place of the next flush to send; none where all were.
  absl::optional<uint64_t> NextFlush() const;

  // Sequences of the next batch if it ends before ordinal `stop`: as many as a
  // batch takes, with all of their pieces. In *is_full, whether it takes no
  // more.
  size_t CutBatch(uint64_t stop, bool* is_full);

  // True if something can be sent behind `progress`.
  bool HasInputAfter(const Progress& progress) const;

  void LimitBatches(uint32_t batch_sequences);

  absl::Status Check(const Response& response);
  // Pack i of `packs`, which has this number in its stream.
  absl::Status Check(const Packs& packs, size_t i, uint64_t number);
  absl::Status Handle(const std::monostate&);
  absl::Status Handle(const Opened& opened);
  absl::Status Handle(const PackList& list);
  absl::Status Handle(const Refused& refused);
  absl::Status Handle(const Ended& ended);
  absl::Status Handle(const Snapshot& snapshot);
  absl::Status Handle(const Drain& drain);
  absl::Status Handle(const Credit& credit);

  void SaveTo(StateWriter* writer) const;
  void RestoreFrom(StateReader* reader);

  PackSpec spec_;
  uint32_t most_batch_sequences_;  // that the owner wants
  std::string stream_id_;

  // What was given.
  UnitLedger ledger_;
  LengthLog log_;                   // lengths since the snapshot
  std::deque<uint64_t> flushes_;    // the ordinals after them, since then
  uint64_t forgotten_flushes_ = 0;  // before those
  uint64_t flushed_sequences_ = 0;  // given before the last flush
  uint64_t pushed_sequences_ = 0;   // given before the last Push
  bool end_given_ = false;

  // What came, on any connection.
  bool was_opened_ = false;
  bool ended_ = false;
  Snapshot snapshot_;  // without a state before the first one
  Progress answered_;
  uint64_t packs_received_ = 0;
  uint64_t units_received_ = 0;
  Packs packs_;          // not taken yet
  absl::Status status_;  // what Receive returned last

  // This connection.
  uint64_t incarnation_ = 0;
  uint32_t batch_sequences_;
  bool open_sent_ = false;
  bool opened_ = false;
  bool draining_ = false;
  bool end_sent_ = false;
  uint64_t sent_number_ = 0;  // of the last input handed out
  Progress sent_;
  size_t cut_sequences_ = 0;  // behind sent_ that were looked at by CutBatch
  uint64_t cut_units_ = 0;    // of these
  Credit credit_;             // to send nothing before `opened`
};

}  // namespace packhouse

#endif  // PACKHOUSE_SESSION_CLIENT_SESSION_H_
