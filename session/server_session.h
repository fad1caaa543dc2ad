// The server's end of one Pack stream, without I/O.
//
// Feed it each request as it arrives; it appends the responses that are to be
// sent, in order. It owns the packer. It knows no clock, thread or transport,
// so a test is a list of calls.
//
//   kNew --open--> kOpen --end--> kEnded
//
// and from each of them to kFailed, where the client breaks the protocol.
//
// A session outlives no connection: all that has to is in the snapshots that it
// hands out, from which another session goes on. What it makes of the inputs
// after a snapshot is what this one made of them, so packs that the client has
// already are decided again and not sent.
//
// Credit is given for each input as soon as the input is taken, so a client
// that sends too early looks the same from here as one that sends in time. It
// is the transport that holds such a client up: it must not read on while
// responses of this session pile up unsent.
//
// Thread-compatible.

#ifndef PACKHOUSE_SESSION_SERVER_SESSION_H_
#define PACKHOUSE_SESSION_SERVER_SESSION_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "packhouse/packer.h"
#include "packhouse/policy.h"
#include "session/length_log.h"
#include "session/limits.h"
#include "session/messages.h"

namespace packhouse {

// Counts of one session, for metrics. They only grow. What was accepted and is
// in no pack is pending.
struct SessionCounts {
  uint64_t batches = 0;  // accepted
  uint64_t refused_batches = 0;
  IntakeCounts accepted;

  uint64_t packs = 0;
  uint64_t packed_units = 0;
  uint64_t packed_tokens = 0;
  uint64_t packed_footprint_tokens = 0;  // rounded up to the alignment

  // Pending in the snapshot from which the session went on.
  uint64_t resumed_units = 0;
  uint64_t resumed_tokens = 0;

  // In packs that were decided again for a client which has them. They are not
  // counted above.
  uint64_t replayed_packs = 0;
  uint64_t replayed_units = 0;
  uint64_t replayed_tokens = 0;

  uint64_t snapshots = 0;
  uint64_t snapshot_bytes = 0;

  uint64_t pending_units() const {
    return resumed_units + accepted.units - packed_units - replayed_units;
  }
  uint64_t pending_tokens() const {
    const uint64_t in = resumed_tokens + accepted.packed_tokens;
    const uint64_t out = packed_tokens + replayed_tokens;
    return in - std::min(in, out);  // a state may have lied about the former
  }

  // What has come since `earlier`, counts of the same session.
  SessionCounts operator-(const SessionCounts& earlier) const;
};

// What Receive would say of this `open`, as far as that can be told before any
// memory is taken for the stream: all but whether the state to resume is good.
absl::Status CheckOpen(const Open& open, const SessionLimits& limits);

class ServerSession {
 public:
  ServerSession(const SessionLimits& limits, uint64_t server_incarnation);

  // Takes one request and appends the responses to *responses: at least one,
  // the last of them with credit. A status other than OK is a protocol
  // violation, with the codes of PackerService.Pack, and appends nothing: the
  // stream has to be ended with it once the earlier responses are sent, and
  // the session takes no request after it.
  absl::Status Receive(const Request& request,
                       std::vector<Response>* responses);

  // Appends a snapshot of the stream as it is. Nothing where there is none:
  // before `open` and after `end`.
  void AppendSnapshot(std::vector<Response>* responses);

  // Tells the client that the server is about to stop, behind a snapshot.
  void Drain(double grace_seconds, std::vector<Response>* responses);

  // True once `end` was received: nothing follows its responses.
  bool ended() const { return state_ == State::kEnded; }

  // Null before a valid `open`.
  const PackSpec* spec() const;

  const SessionCounts& counts() const { return counts_; }

 private:
  enum class State { kNew, kOpen, kEnded, kFailed };

  absl::Status Handle(const std::monostate&, std::vector<Response>* responses);
  absl::Status Handle(const Open& open, std::vector<Response>* responses);
  absl::Status Handle(const Batch& batch, std::vector<Response>* responses);
  absl::Status Handle(const Flush& flush, std::vector<Response>* responses);
  absl::Status Handle(const End& end, std::vector<Response>* responses);

  // OK if an input with this number may come now. Counts it as received unless
  // it was before; which, in *is_new.
  absl::Status AcceptInput(uint64_t number, bool* is_new);

  // Counts decided packs and appends those that the client does not have, in
  // responses of at most kMaxResponseUnits.
  void AppendPacks(Packs packs, std::vector<Response>* responses);

  struct PackedSum {
    uint64_t units = 0;
    uint64_t tokens = 0;
    uint64_t alignment_tokens = 0;  // that footprints have beyond them
  };
  // Of packs `begin` to `end` - 1.
  PackedSum SumOf(const Packs& packs, size_t begin, size_t end) const;
  void CountPacks(const Packs& packs);

  // Appends a snapshot where one is due.
  void AppendDueSnapshot(std::vector<Response>* responses);

  std::string SaveState() const;
  absl::Status RestoreState(const PackSpec& spec, absl::string_view state);
  bool StateAgrees() const;

  Credit credit() const;

  const SessionLimits limits_;
  const uint64_t server_incarnation_;
  State state_ = State::kNew;
  absl::optional<Packer> packer_;
  uint64_t received_number_ = 0;
  uint64_t received_sequences_ = 0;  // refused ones too
  uint64_t packs_ = 0;               // decided, of the stream
  uint64_t packed_units_ = 0;        // in them
  uint64_t client_packs_ = 0;        // that it had when it resumed
  LengthLog waiting_;                // from the oldest pending sequence on
  SessionCounts counts_;

  // What the last snapshot covers.
  uint64_t snapshot_number_ = 0;
  uint64_t snapshot_sequences_ = 0;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SESSION_SERVER_SESSION_H_
