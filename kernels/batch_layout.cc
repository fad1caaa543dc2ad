#include "packhouse/batch_layout.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace packhouse {
namespace {

constexpr absl::string_view kPadModeNames[] = {
    "segment", "trim", "masked", "singletons", "merge_last", "slots"};

int64_t RoundedUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

absl::Status CheckSetting(absl::string_view name, int64_t value) {
  if (value >= 1 && value <= kMaxBatchTokens) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " is ", value, ", it must be from 1 to ", kMaxBatchTokens));
}

absl::Status CheckSpec(const LayoutSpec& spec) {
  if (auto status = CheckSetting("row_tokens", spec.row_tokens); !status.ok()) {
    return status;
  }
  if (auto status = CheckSetting("alignment", spec.alignment); !status.ok()) {
    return status;
  }
  if (auto status = CheckSetting("trim_multiple", spec.trim_multiple);
      !status.ok()) {
    return status;
  }
  const int mode = static_cast<int>(spec.pad_mode);
  if (mode < 0 || mode >= static_cast<int>(std::size(kPadModeNames))) {
    return absl::InvalidArgumentError(
        absl::StrCat("pad_mode is number ", mode, ", there is no such one"));
  }
  if (spec.pad_mode == PadMode::kTrim && spec.alignment != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("alignment is ", spec.alignment,
                     ", pad_mode trim leaves no padding to align with"));
  }
  return absl::OkStatus();
}

absl::Status CheckOffsets(absl::Span<const uint64_t> offsets, size_t lengths) {
  if (offsets.size() < 2) {
    return absl::InvalidArgumentError("a batch needs at least one row");
  }
  if (offsets.front() != 0 || offsets.back() != lengths) {
    return absl::InvalidArgumentError(absl::StrCat(
        "offsets are from ", offsets.front(), " to ", offsets.back(),
        ", they must be from 0 to ", lengths, ", the number of lengths"));
  }
  for (size_t row = 1; row < offsets.size(); ++row) {
    if (offsets[row] >= offsets[row - 1]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("offsets of row ", row - 1, " descend from ",
                     offsets[row - 1], " to ", offsets[row]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view PadModeName(PadMode mode) {
  return kPadModeNames[static_cast<int>(mode)];
}

absl::optional<PadMode> PadModeFromName(absl::string_view name) {
  for (size_t i = 0; i < std::size(kPadModeNames); ++i) {
    if (kPadModeNames[i] == name) return static_cast<PadMode>(i);
  }
  return absl::nullopt;
}

// Puts one segment behind the other. The tokens of the batch were checked: no
// sum wraps.
class LayoutBuilder {
 public:
  LayoutBuilder(const LayoutSpec& spec, absl::Span<const uint32_t> lengths,
                absl::Span<const uint64_t> offsets,
                absl::Span<const uint32_t> origins)
      : spec_(spec), lengths_(lengths), offsets_(offsets), origins_(origins) {}

  absl::StatusOr<BatchLayout> Build() {
    if (auto status = Check(); !status.ok()) return status;
    layout_.segments_.reserve(lengths_.size() + offsets_.size());
    const bool one_row = spec_.flat || spec_.pad_mode == PadMode::kTrim;
    for (size_t row = 0; row + 1 < offsets_.size(); ++row) {
      if (row == 0 || !one_row) BeginRow();
      AddRow(row);
    }
    if (spec_.pad_mode == PadMode::kTrim) {
      const int64_t end = RoundedUp(at_, spec_.trim_multiple);
      if (end > at_) AddPadSegment(end);
    }
    EndRow();
    AddEnd();
    layout_.pad_mode_ = spec_.pad_mode;
    layout_.packs_ = static_cast<int64_t>(offsets_.size()) - 1;
    layout_.rows_ = one_row ? 1 : layout_.packs_;
    layout_.row_tokens_ = one_row ? at_ : spec_.row_tokens;
    FindExtremes();
    return std::move(layout_);
  }

 private:
  bool HasPadSegments() const {
    return spec_.pad_mode == PadMode::kSegment ||
           spec_.pad_mode == PadMode::kSingletons;
  }

  absl::Status Check() const {
    if (auto status = CheckSpec(spec_); !status.ok()) return status;
    if (auto status = CheckOffsets(offsets_, lengths_.size()); !status.ok()) {
      return status;
    }
    if (!origins_.empty() && origins_.size() != lengths_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(origins_.size(), " origins for ", lengths_.size(),
                       " lengths: one for each, or none"));
    }
    int64_t tokens = 0;
    for (size_t row = 0; row + 1 < offsets_.size(); ++row) {
      absl::StatusOr<int64_t> used = CheckRow(row);
      if (!used.ok()) return used.status();
      tokens += spec_.pad_mode == PadMode::kTrim && *used > 0
                    ? *used
                    : spec_.row_tokens;
      if (tokens > kMaxBatchTokens) return TooMany();
    }
    if (spec_.pad_mode == PadMode::kTrim &&
        RoundedUp(tokens, spec_.trim_multiple) > kMaxBatchTokens) {
      return TooMany();
    }
    return absl::OkStatus();
  }

  absl::Status TooMany() const {
    return absl::InvalidArgumentError(
        absl::StrCat("the batch has ", offsets_.size() - 1, " rows of ",
                     spec_.row_tokens, " tokens, together it may have ",
                     kMaxBatchTokens, ", the most that 32-bit offsets reach"));
  }

  // The tokens of a row up to the end of its last sequence.
  absl::StatusOr<int64_t> CheckRow(size_t row) const {
    int64_t used = 0;
    for (uint64_t i = offsets_[row]; i < offsets_[row + 1]; ++i) {
      if (lengths_[i] == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("row ", row, ": sequence ", i - offsets_[row],
                         " has length 0, it must be at least 1"));
      }
      used = RoundedUp(used, spec_.alignment) + lengths_[i];
      if (used > spec_.row_tokens) return TooLong(row);
      if (origins_.empty()) continue;
      const bool last = i + 1 == offsets_[row + 1];
      const int64_t slot_end =
          last ? spec_.row_tokens : RoundedUp(used, spec_.alignment);
      const int64_t padding = PositionsRunOn() ? slot_end - used : 0;
      const int64_t most = kMaxBatchTokens - lengths_[i] - padding;
      if (origins_[i] <= most) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "row ", row, ": sequence ", i - offsets_[row], " has origin ",
          origins_[i], ", with its ", lengths_[i] + padding,
          " positions it may be at most ", most));
    }
    return used;
  }

  // Whether the padding behind a sequence has positions of that.
  bool PositionsRunOn() const {
    return spec_.pad_mode == PadMode::kMergeLast ||
           spec_.pad_mode == PadMode::kSlots;
  }

  absl::Status TooLong(size_t row) const {
    int64_t used = 0;
    for (uint64_t i = offsets_[row]; i < offsets_[row + 1]; ++i) {
      used = RoundedUp(used, spec_.alignment) + lengths_[i];
    }
    return absl::InvalidArgumentError(
        absl::StrCat("row ", row, " has ", used, " tokens in ",
                     offsets_[row + 1] - offsets_[row], " sequences",
                     spec_.alignment == 1
                         ? ""
                         : absl::StrCat(" at multiples of ", spec_.alignment),
                     ", row_tokens is ", spec_.row_tokens));
  }

  void BeginRow() {
    EndRow();
    row_first_ = static_cast<int32_t>(layout_.segments_.size());
    row_sequences_ = sequences_;
  }

  void EndRow() {
    const int64_t segments = layout_.segments_.size() - row_first_;
    layout_.max_row_segments_ = std::max(layout_.max_row_segments_, segments);
    layout_.max_row_sequences_ = std::max<int64_t>(layout_.max_row_sequences_,
                                                   sequences_ - row_sequences_);
  }

  void AddRow(size_t row) {
    const int64_t row_begin = at_;
    const bool empty = offsets_[row] == offsets_[row + 1];
    for (uint64_t i = offsets_[row]; i < offsets_[row + 1]; ++i) {
      Pad(row_begin + RoundedUp(at_ - row_begin, spec_.alignment));
      AddSequence(i);
    }
    if (spec_.pad_mode == PadMode::kTrim && !empty) return;
    const int64_t row_end = row_begin + spec_.row_tokens;
    if (empty && spec_.pad_mode != PadMode::kSingletons) {
      AddPadSegment(row_end);
    } else {
      Pad(row_end);
    }
  }

  void AddSequence(uint64_t i) {
    const int64_t length = lengths_[i];
    Segment segment = Next();
    segment.source = source_;
    segment.real_end = static_cast<int32_t>(at_ + length);
    segment.origin = origins_.empty() ? 0 : static_cast<int32_t>(origins_[i]);
    Add(segment, at_ + length);
    ++sequences_;
    source_ += length;
    layout_.sequence_tokens_ += length;
    layout_.max_sequence_ = std::max(layout_.max_sequence_, length);
    layout_.min_sequence_ = layout_.min_sequence_ == 0
                                ? length
                                : std::min(layout_.min_sequence_, length);
  }

  // Fills the row with padding up to `end`.
  void Pad(int64_t end) {
    if (at_ == end) return;
    if (spec_.pad_mode == PadMode::kSegment) {
      AddPadSegment(end);
    } else if (spec_.pad_mode == PadMode::kSingletons) {
      while (at_ < end) AddPadSegment(at_ + 1);
    } else if (spec_.pad_mode == PadMode::kMergeLast) {
      Segment& last = layout_.segments_.back();
      attended_ += end - last.attend_end;
      last.attend_end = static_cast<int32_t>(end);
      at_ = end;
    } else {
      at_ = end;
    }
  }

  void AddPadSegment(int64_t end) {
    Segment segment = Next();
    segment.real_end = segment.begin;
    Add(segment, end);
  }

  Segment Next() const {
    Segment segment = {};
    segment.source = source_;
    segment.begin = static_cast<int32_t>(at_);
    segment.attended_before = static_cast<int32_t>(attended_);
    segment.sequences_before = sequences_;
    segment.row_first = row_first_;
    segment.row_sequences = row_sequences_;
    return segment;
  }

  void Add(Segment segment, int64_t end) {
    segment.attend_end = static_cast<int32_t>(end);
    layout_.segments_.push_back(segment);
    attended_ += end - at_;
    at_ = end;
  }

  void AddEnd() {
    Segment end = Next();
    end.attend_end = end.begin;
    end.real_end = end.begin;
    layout_.segments_.push_back(end);
  }

  void FindExtremes() {
    const std::vector<Segment>& segments = layout_.segments_;
    layout_.min_segment_ = segments.front().attended();
    for (size_t s = 0; s + 1 < segments.size(); ++s) {
      const int64_t attended = segments[s].attended();
      layout_.max_segment_ = std::max(layout_.max_segment_, attended);
      layout_.min_segment_ = std::min(layout_.min_segment_, attended);
      const int64_t slot = segments[s + 1].begin - segments[s].begin;
      layout_.max_slot_ = std::max(layout_.max_slot_, slot);
      const int64_t positions = PositionsRunOn() ? slot : attended;
      layout_.max_position_ =
          std::max(layout_.max_position_, segments[s].origin + positions - 1);
      const bool same_row = s + 2 < segments.size() &&
                            segments[s].row_first == segments[s + 1].row_first;
      if (slot > attended && same_row) {
        layout_.inner_gaps_.push_back(static_cast<int32_t>(slot - attended));
      }
    }
  }

  const LayoutSpec& spec_;
  const absl::Span<const uint32_t> lengths_;
  const absl::Span<const uint64_t> offsets_;
  const absl::Span<const uint32_t> origins_;
  BatchLayout layout_;
  int64_t at_ = 0;
  int64_t attended_ = 0;
  int64_t source_ = 0;
  int32_t sequences_ = 0;
  int32_t row_first_ = 0;
  int32_t row_sequences_ = 0;
};

absl::StatusOr<BatchLayout> BatchLayout::Make(
    const LayoutSpec& spec, absl::Span<const uint32_t> lengths,
    absl::Span<const uint64_t> offsets, absl::Span<const uint32_t> origins) {
  return LayoutBuilder(spec, lengths, offsets, origins).Build();
}

absl::Status BatchLayout::CheckBlocks(BlockShape shape) const {
  const int32_t least = std::min(shape.q, shape.kv);
  const int32_t most = std::max(shape.q, shape.kv);
  if (least < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "blocks are ", shape.q, " x ", shape.kv, ", sides must be at least 1"));
  }
  for (int32_t gap : inner_gaps_) {
    // A block of `least` lies within the gap, and one of `most` has attending
    // tokens on both sides of it.
    if (gap < least || gap > most - 2) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "blocks of ", shape.q, " x ", shape.kv, " do not go with pad_mode ",
        PadModeName(pad_mode_), ": padding of ", gap,
        " tokens lies between sequences, it must be shorter than both "
        "sides, or the sides equal"));
  }
  return absl::OkStatus();
}

absl::Status BatchLayout::CheckShares(int64_t ranks) const {
  if (ranks < 1 || ranks > kMaxBatchTokens / 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("context-parallel ranks are ", ranks,
                     ", they must be from 1 to ", kMaxBatchTokens / 2));
  }
  for (size_t s = 0; s + 1 < segments_.size(); ++s) {
    const int64_t slot = segments_[s + 1].begin - segments_[s].begin;
    if (slot % (2 * ranks) == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "segment ", s, " has ", slot, " tokens, ", ranks,
        " context-parallel ranks share multiples of ", 2 * ranks,
        ": the alignment and the tokens of a row have to be such, and pad_mode "
        "slots; it is ",
        PadModeName(pad_mode_), " here, with rows of ", row_tokens_));
  }
  return absl::OkStatus();
}

SegmentTable BatchLayout::table() const {
  SegmentTable table;
  table.segments = segments_.data();
  table.count = static_cast<int32_t>(segments());
  table.rows = static_cast<int32_t>(rows_);
  table.row_tokens = static_cast<int32_t>(row_tokens_);
  table.positions_run_on = pad_mode_ != PadMode::kMasked;
  return table;
}

}  // namespace packhouse
