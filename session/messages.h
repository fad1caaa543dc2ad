// The messages of a Pack stream as plain structs.
//
// They mirror proto/packhouse/v1/packhouse.proto, which says what each field
// means; session/codec maps one to the other. The sessions speak only these,
// so they build without gRPC and protobuf.

#ifndef PACKHOUSE_SESSION_MESSAGES_H_
#define PACKHOUSE_SESSION_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"

namespace packhouse {

inline constexpr uint32_t kProtocolVersion = 1;

// What both ends allow one gRPC message to weigh. The limits below keep every
// message under it: a unit takes at most 10 bytes (ordinal and source offset),
// and a pack at most 5 for its size.
//
// A pack is never cut, so a response with one pack may have more units than
// kMaxResponseUnits: up to a whole window. A snapshot has a whole window too,
// up to 20 bytes a unit where lengths are as hard to store as they can be.
inline constexpr int kMaxMessageBytes = 16 << 20;
inline constexpr int64_t kMaxStreamWindowSequences = int64_t{1} << 19;
inline constexpr size_t kMaxSnapshotBytes = 12 << 20;

// Bytes that the name of a stream may have.
inline constexpr size_t kMaxStreamIdBytes = 128;

// Sequences that one batch and one Plan call may have, and units that one
// response of several packs and one Plan call may have.
inline constexpr uint32_t kMaxBatchSequences = 1 << 16;
inline constexpr uint32_t kMaxResponseUnits = 1 << 16;
inline constexpr uint32_t kMaxPlanSequences = 1 << 20;

// Units that one batch may become: a client closes a batch when it has as many
// units as it may have sequences, and the last sequence may have
// kMaxPiecesPerSequence.
inline constexpr uint64_t kMaxBatchUnits =
    kMaxBatchSequences + kMaxPiecesPerSequence;

// How long a plan of one call may search.
inline constexpr double kMaxPlanBudgetSeconds = 10;

// A server allows a max_displacement of so many of its largest windows.
inline constexpr int64_t kMaxStreamDisplacementWindows = 4;

// Multiples of the alignment that a pack of `sliding` may hold. Beyond, lengths
// made to collide could make its searches slow.
inline constexpr int64_t kMaxStreamSlidingCapacity = int64_t{1} << 24;

struct Resume {
  std::string state;
  uint64_t received_packs = 0;
};

struct Open {
  uint32_t protocol_version = kProtocolVersion;
  PackSpec spec = {};
  std::string stream_id = {};
  uint64_t incarnation = 0;
  absl::optional<Resume> resume = absl::nullopt;
};

struct Batch {
  uint64_t number = 0;
  std::vector<uint32_t> lengths;
};

struct Flush {
  uint64_t number = 0;
};

struct End {
  uint64_t number = 0;
};

// monostate: a request without content, which is a protocol violation.
using Request = std::variant<std::monostate, Open, Batch, Flush, End>;

struct Credit {
  uint64_t received_number = 0;
  uint64_t max_number = 0;
  uint64_t max_sequences = 0;
};

struct Opened {
  uint32_t protocol_version = 0;
  uint64_t server_incarnation = 0;
  uint32_t max_batch_sequences = 0;
  uint64_t snapshot_sequences = 0;
  uint64_t snapshot_inputs = 0;
};

struct PackList {
  uint64_t first_number = 0;
  Packs packs;
};

struct Refused {
  uint64_t number = 0;
  absl::Status status;  // never OK
};

struct Ended {
  uint64_t sequences = 0;
  uint64_t packs = 0;
  uint64_t units = 0;
};

struct Snapshot {
  uint64_t received_number = 0;
  uint64_t sequences = 0;
  uint64_t packs = 0;
  std::string state;
};

struct Drain {
  double grace_seconds = 0;
};

// monostate: a response that carries credit alone.
using Event = std::variant<std::monostate, Opened, PackList, Refused, Ended,
                           Snapshot, Drain>;

struct Response {
  Event event;
  absl::optional<Credit> credit;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SESSION_MESSAGES_H_
