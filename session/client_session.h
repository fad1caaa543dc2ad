// The client's end of one Pack stream, without I/O.
//
// The owner gives lengths, flushes and the end; the transport asks for the
// next request to send and feeds the responses; packs come out. Lengths are
// gathered into batches. Requests are handed out in order and only within the
// server's credit. Nothing that the server says is believed: every unit must
// come exactly once, and the totals must agree.
//
// Thread-compatible.

#ifndef PACKHOUSE_SESSION_CLIENT_SESSION_H_
#define PACKHOUSE_SESSION_CLIENT_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"
#include "session/messages.h"
#include "session/unit_ledger.h"

namespace packhouse {

class ClientSession {
 public:
  // Requires a valid spec and batch_sequences from 1 to kMaxBatchSequences. A
  // server that allows smaller batches gets smaller ones.
  ClientSession(const PackSpec& spec, uint32_t batch_sequences);

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

  // Makes a batch of what is gathered, full or not, so that it is sent.
  void Push();

  // True when the stream is open and every input that was made has been
  // answered (and, after End, the stream has ended): no response is to come.
  bool settled() const;

  // True once the server has said that the stream is open.
  bool opened() const { return opened_; }

  // True once the server has said that the stream has ended.
  bool ended() const { return ended_; }

  // Sequences given so far: the ordinal of the next.
  uint64_t given_sequences() const { return ledger_.sequences(); }

  // Sequences given that no request handed out so far carries.
  uint64_t unsent_sequences() const {
    return given_sequences() - sent_sequences_;
  }

  // The packs received since the last call, in release order.
  Packs Take();

  // --- The transport's side -----------------------------------------------

  // The next request to send; none while there is nothing to send or no
  // credit for it, and none after Receive has failed. The first one is `open`.
  absl::optional<Request> NextRequest();

  // Takes one response. A status other than OK is final, and every later call
  // returns it again: what the server sent breaks the protocol (INTERNAL: packs
  // out of order or with ordinals that were never sent or twice, credit that
  // shrinks, ...) or it refused a batch (its status).
  absl::Status Receive(const Response& response);

 private:
  // An input that waits to be sent; it gets its number then.
  using Input = std::variant<Batch, packhouse::Flush, packhouse::End>;

  // Gathers lengths; makes a batch whenever there are enough for one.
  void Gather(absl::Span<const uint32_t> lengths);

  // How many of these, at least one, may go into the batch that is gathered. It
  // is full when they, or the pieces of split ones, are batch_sequences_.
  size_t RoomFor(absl::Span<const uint32_t> lengths, size_t* units) const;

  // Makes smaller batches of those that wait.
  void LimitBatches(uint32_t batch_sequences);

  absl::Status Check(const Response& response);
  // Pack i of `packs`, which has this number in its stream.
  absl::Status Check(const Packs& packs, size_t i, uint64_t number);
  absl::Status Handle(const std::monostate&);
  absl::Status Handle(const Opened& opened);
  absl::Status Handle(const PackList& list);
  absl::Status Handle(const Refused& refused);
  absl::Status Handle(const Ended& ended);
  absl::Status Handle(const Credit& credit);

  const PackSpec spec_;
  uint32_t batch_sequences_;

  std::vector<uint32_t> gathered_;  // less than a batch
  size_t gathered_units_ = 0;
  std::deque<Input> unsent_;
  uint64_t flushed_sequences_ = 0;  // given before the last flush
  uint64_t sent_sequences_ = 0;     // in requests handed out
  uint64_t sent_number_ = 0;        // of the last input handed out
  bool open_sent_ = false;
  bool end_given_ = false;
  bool end_sent_ = false;

  absl::Status status_;  // what Receive returned last
  bool opened_ = false;
  bool ended_ = false;
  Credit credit_;  // none before `opened`
  uint64_t packs_received_ = 0;
  uint64_t units_received_ = 0;
  UnitLedger ledger_;
  Packs packs_;  // not taken yet
};

}  // namespace packhouse

#endif  // PACKHOUSE_SESSION_CLIENT_SESSION_H_
