// From packs and the caller's token buffers to a batch, and back.
//
//   absl::StatusOr<PackedBatch> batch = PackedBatch::Make(
//       spec, PadMode::kSegment, packs, lengths, /*first_ordinal=*/0);
//   batch->Fill(FormatOptions(), DType::kInt32,
//               [&](uint64_t ordinal) -> SequenceData {
//                 return {tokens[ordinal].data(), nullptr};
//               },
//               outputs);
//   ... a step of training ...
//   batch->UnpackTokens(losses, sizeof(float), [&](const PackedUnit& unit) {
//     return loss_of[unit.ordinal].data() + unit.source_offset;
//   });
//
// A unit is what is packed of a sequence: all of it, what is left of one that
// was truncated, or a piece of one that was split. Packs say which units share
// a pack; tokens stay in the caller's memory until they are gathered here.

#ifndef PACKHOUSE_PACKED_BATCH_H_
#define PACKHOUSE_PACKED_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "packhouse/batch_layout.h"
#include "packhouse/fill.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"
#include "packhouse/tensor.h"

namespace packhouse {

struct PackedUnit {
  uint64_t ordinal;        // of its sequence
  uint32_t source_offset;  // its first token in the sequence
  uint32_t tokens;
  int64_t pack;   // the pack it is in, from 0
  int64_t begin;  // its first token among those of the batch
};

// The tokens and labels of a whole sequence, from its first token on, of the
// types that Fill is told. `labels` may be null for all: then tokens are
// labels.
struct SequenceData {
  const void* tokens;
  const void* labels;
};

// The types of their elements: uint16, int32 or int64.
struct SequenceTypes {
  SequenceTypes(DType both) : tokens(both), labels(both) {}
  SequenceTypes(DType of_tokens, DType of_labels)
      : tokens(of_tokens), labels(of_labels) {}

  DType tokens;
  DType labels;
};

// Immutable, but for Fill, which needs the object for itself.
class PackedBatch {
 public:
  // A row for each pack, of spec.capacity_tokens; sequences begin at multiples
  // of spec.sequence_alignment. `lengths` are those of the sequences from
  // ordinal `first_ordinal` on, among them all that the packs hold. With
  // `positions_go_on` the positions of a piece begin where it does in its
  // sequence, else at 0.
  //
  // INVALID_ARGUMENT, naming the pack and the ordinal, where the packs hold a
  // sequence without a length, one that the spec refuses, or a unit that it
  // does not make of it; as CheckColumns (packhouse/packs.h); and as
  // BatchLayout::Make.
  static absl::StatusOr<PackedBatch> Make(const PackSpec& spec,
                                          PadMode pad_mode, const Packs& packs,
                                          absl::Span<const uint32_t> lengths,
                                          uint64_t first_ordinal,
                                          bool flat = false,
                                          bool positions_go_on = false);

  // Numbers that consumers need on the host, known before anything is filled.
  const BatchLayout& layout() const { return layout_; }

  // In the order of the batch: unit i is sequence i of the layout.
  absl::Span<const PackedUnit> units() const { return units_; }

  // Gathers tokens (and labels) and fills formats, in memory of the host.
  // `data` is asked once for each unit, in their order, and only if a format
  // needs tokens or labels; what it answers is copied before it is asked again.
  // Errors as packhouse::Fill, those of the outputs before anything is asked;
  // INVALID_ARGUMENT too where `data` has no tokens, or labels for some only.
  // Nothing is written then.
  absl::Status Fill(const FormatOptions& options, SequenceTypes types,
                    absl::FunctionRef<SequenceData(uint64_t ordinal)> data,
                    absl::Span<const Output> outputs, int threads = 1);

  // Scatters `values`, of bytes_per_token for each token of the batch ([R, S,
  // ...], compact), back: `destination` says where those of a unit go, null for
  // nowhere. Padding goes nowhere.
  void UnpackTokens(
      const void* values, size_t bytes_per_token,
      absl::FunctionRef<void*(const PackedUnit& unit)> destination) const;

  // The same of one token of each unit, such as a classifier's first or a
  // language model's last.
  enum class Token { kFirst, kLast };
  void UnpackToken(
      Token token, const void* values, size_t bytes_per_token,
      absl::FunctionRef<void*(const PackedUnit& unit)> destination) const;

  // The same of values for each unit, in the order of units(): [m, ...].
  void UnpackUnits(
      const void* values, size_t bytes_per_unit,
      absl::FunctionRef<void*(const PackedUnit& unit)> destination) const;

 private:
  PackedBatch(BatchLayout layout, std::vector<PackedUnit> units)
      : layout_(std::move(layout)), units_(std::move(units)) {}

  absl::Status Gather(SequenceTypes types,
                      absl::FunctionRef<SequenceData(uint64_t ordinal)> data,
                      Sources* sources);

  BatchLayout layout_;
  std::vector<PackedUnit> units_;
  // The gathered tokens of the last Fill, for their memory.
  std::vector<char> tokens_;
  std::vector<char> labels_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKED_BATCH_H_
