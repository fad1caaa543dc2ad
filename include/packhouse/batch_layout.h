// Where the sequences of a packed batch lie.
//
// A batch is rows of `row_tokens` tokens. In each row sequences lie one after
// another from its first token on; the tail behind the last of them is padding.
// What padding is to attention differs from consumer to consumer: PadMode.
//
//   LayoutSpec spec;
//   spec.row_tokens = 12;
//   absl::StatusOr<BatchLayout> layout =
//       BatchLayout::Make(spec, /*lengths=*/{5, 3, 12}, /*offsets=*/{0, 2, 3});
//   layout->segments();     // 4: sequences of 5 and 3, a tail of 4, one of 12
//   layout->max_segment();  // 12
//
// All that consumers need to know on the host (numbers, sums, the longest) is a
// plain integer here, known before anything is filled and without a device.

#ifndef PACKHOUSE_BATCH_LAYOUT_H_
#define PACKHOUSE_BATCH_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "packhouse/segment_table.h"

namespace packhouse {

// What padding is to attention. In every mode its labels are ignored and its
// loss weights 0, and a row without sequences (a filler) is one segment of
// padding, so that no format is ever without segments.
enum class PadMode {
  // Each run of padding is a segment of its own: it attends itself only, no row
  // of a mask is empty, nothing becomes NaN. The default.
  kSegment,
  // There is none: the rows lie one after another without their tails, as one
  // row of as many tokens as the sequences have (but for trim_multiple, and for
  // fillers, which stay rows of padding that attends itself). Needs
  // alignment 1.
  kTrim,
  // It attends nothing and nothing attends it. Its positions are 0. Offsets
  // count the tokens that attend, as after unpadding. (All but fillers, which
  // attend themselves here too, and in kSlots.)
  kMasked,
  // Each token of padding is a segment of its own, at position 0.
  kSingletons,
  // It belongs to the sequence before it, and attends like it. Where attention
  // looks both ways, this changes results; with a causal mask only their cost.
  kMergeLast,
  // Like kMasked, but a sequence and the padding behind it are one slot, over
  // which positions run on, and offsets come in pairs: of the tokens that
  // attend, and of the slots. The tail of a row belongs to its last slot.
  kSlots,
};

// "segment", "trim", "masked", "singletons", "merge_last", "slots".
absl::string_view PadModeName(PadMode mode);
absl::optional<PadMode> PadModeFromName(absl::string_view name);

// Most tokens of a batch: offsets are 32-bit integers for every consumer.
inline constexpr int64_t kMaxBatchTokens = (int64_t{1} << 31) - 1;

struct LayoutSpec {
  // Tokens of a row, from 1 on. In PadMode::kTrim rows may not be longer, but
  // are as long as their sequences.
  int64_t row_tokens = 0;
  PadMode pad_mode = PadMode::kSegment;
  // Sequences begin at multiples of it: the sequence_alignment of the packer.
  // At least 1.
  int64_t alignment = 1;
  // Of kTrim: the one row is filled up to a multiple of it with a segment of
  // padding, as kernels of 8-bit numbers and compiled graphs like it. At least
  // 1.
  int64_t trim_multiple = 1;
  // Whether the rows are looked at as one row of rows x row_tokens tokens, as
  // for kernels that take a flat batch. Segments stay what they are; shapes,
  // numbers and block tables are those of the one row.
  bool flat = false;
};

// Immutable; safe to read from several threads.
class BatchLayout {
 public:
  // Row r has lengths[offsets[r]] to lengths[offsets[r + 1] - 1], which are
  // tokens, at least 1 each: Packs::offsets and PackedTokens are such. The
  // first offset is 0, the last lengths.size(). `origins` are the positions of
  // the first tokens, where they are to go on in the pieces of a split sequence
  // (Packs::source_offsets); empty where all are 0.
  //
  // INVALID_ARGUMENT, naming the place, the value and the limit, where a row
  // does not fit row_tokens, a length is 0, a setting is out of its range,
  // offsets are not as above, there is no row, a position or the batch's tokens
  // are beyond kMaxBatchTokens.
  static absl::StatusOr<BatchLayout> Make(
      const LayoutSpec& spec, absl::Span<const uint32_t> lengths,
      absl::Span<const uint64_t> offsets,
      absl::Span<const uint32_t> origins = {});

  // Of every per-token output: rows() x row_tokens(). 1 and all tokens in
  // PadMode::kTrim and where the spec says flat.
  int64_t rows() const { return rows_; }
  int64_t row_tokens() const { return row_tokens_; }
  int64_t tokens() const { return segments_.back().begin; }

  // Rows as they were given.
  int64_t packs() const { return packs_; }

  int64_t sequences() const { return segments_.back().sequences_before; }
  int64_t sequence_tokens() const { return sequence_tokens_; }
  // The longest and the shortest sequence; 0 where there is none.
  int64_t max_sequence() const { return max_sequence_; }
  int64_t min_sequence() const { return min_sequence_; }

  // Entries of cu_seqlens but one: sequences and segments of padding.
  int64_t segments() const {
    return static_cast<int64_t>(segments_.size()) - 1;
  }
  // Tokens that attend; less than tokens() in kMasked and kSlots only.
  int64_t attended_tokens() const { return segments_.back().attended_before; }
  // The longest segment and the shortest, and the longest slot, which is a
  // segment with the padding behind it.
  int64_t max_segment() const { return max_segment_; }
  int64_t min_segment() const { return min_segment_; }
  int64_t max_slot() const { return max_slot_; }

  // Most sequences and most segments of one row().
  int64_t max_row_sequences() const { return max_row_sequences_; }
  int64_t max_row_segments() const { return max_row_segments_; }

  // The largest position of a token, without a start that is added.
  int64_t max_position() const { return max_position_; }

  PadMode pad_mode() const { return pad_mode_; }

  // OK where block tables of this shape are exact for this layout.
  // INVALID_ARGUMENT where a side is below 1, or where padding that nobody
  // attends lies between sequences of a row and is at least as long as one side
  // of a block while the other side spans it: present blocks then have a hole.
  absl::Status CheckBlocks(BlockShape shape) const;

  // OK where a context-parallel group of `ranks` can share the batch: every
  // slot is a multiple of 2 x ranks. INVALID_ARGUMENT names the first that is
  // not, or ranks below 1 or so many that 2 x ranks is beyond kMaxBatchTokens.
  absl::Status CheckShares(int64_t ranks) const;

  // The table that every output follows from. Valid while *this lives, unmoved.
  SegmentTable table() const;

 private:
  friend class LayoutBuilder;
  BatchLayout() = default;

  PadMode pad_mode_ = PadMode::kSegment;
  int64_t rows_ = 0;
  int64_t row_tokens_ = 0;
  int64_t packs_ = 0;
  int64_t sequence_tokens_ = 0;
  int64_t max_sequence_ = 0;
  int64_t min_sequence_ = 0;
  int64_t max_segment_ = 0;
  int64_t min_segment_ = 0;
  int64_t max_slot_ = 0;
  int64_t max_position_ = 0;
  int64_t max_row_sequences_ = 0;
  int64_t max_row_segments_ = 0;
  // One more than segments(): SegmentTable.
  std::vector<Segment> segments_;
  // Of each run of padding that nobody attends and that has a segment of the
  // same row behind it.
  std::vector<int32_t> inner_gaps_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_BATCH_LAYOUT_H_
