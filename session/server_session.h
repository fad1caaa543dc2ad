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
// Credit is given for each input as soon as the input is taken, so a client
// that sends too early looks the same from here as one that sends in time. It
// is the transport that holds such a client up: it must not read on while
// responses of this session pile up unsent.
//
// Thread-compatible.

#ifndef PACKHOUSE_SESSION_SERVER_SESSION_H_
#define PACKHOUSE_SESSION_SERVER_SESSION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "packhouse/packer.h"
#include "packhouse/policy.h"
#include "session/messages.h"
#include "session/waiting_lengths.h"

namespace packhouse {

// What a server allows a stream: every limit is at least 1. The memory of a
// stream is bounded by max_window_sequences (the packer's), 4 bytes for each
// sequence since the oldest pending one (kMaxStreamWaitingSequences) and the
// credit (what is on the way).
struct SessionLimits {
  // Largest window that a spec may ask for, itself at most
  // kMaxStreamWindowSequences. A pending unit costs the packer about 100 bytes.
  // max_displacement may be kMaxStreamDisplacementWindows times as much.
  int64_t max_window_sequences = int64_t{1} << 20;

  // Inputs and sequences that a client may have on the way. 64 batches of
  // 4096 keep a connection busy on any local link.
  uint64_t credit_inputs = 64;
  uint64_t credit_sequences = uint64_t{4} * kMaxBatchSequences;

  // Sequences that a batch may have. Where credit_sequences is less, that
  // holds: a batch that no credit ever allows would lock the stream.
  uint32_t max_batch_sequences = kMaxBatchSequences;
};

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

  uint64_t pending_units() const { return accepted.units - packed_units; }
  uint64_t pending_tokens() const {
    return accepted.packed_tokens - packed_tokens;
  }

  // What has come since `earlier`, counts of the same session.
  SessionCounts operator-(const SessionCounts& earlier) const;
};

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

  // OK if an input with this number may come now; counts it as received.
  absl::Status AcceptInput(uint64_t number);

  // Counts decided packs and appends them in responses of at most
  // kMaxResponseUnits.
  void AppendPacks(Packs packs, std::vector<Response>* responses);

  void CountPacks(const Packs& packs);

  Credit credit() const;

  const SessionLimits limits_;
  const uint64_t server_incarnation_;
  State state_ = State::kNew;
  absl::optional<Packer> packer_;
  uint64_t received_number_ = 0;
  uint64_t received_sequences_ = 0;  // refused ones too
  SessionCounts counts_;
  WaitingLengths waiting_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SESSION_SERVER_SESSION_H_
