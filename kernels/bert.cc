#include "packhouse/bert.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "packhouse/segment_table.h"

namespace packhouse {
namespace {

// A sequence in its row.
struct Placed {
  int64_t sequence;  // of the batch
  int64_t row;
  int64_t number;  // in the row, from 0
  int64_t body;    // where its second token stands in the row
  int64_t tokens;
  int64_t source;
};

// Where token `place` of a sequence stands in its row.
int64_t PlaceInRow(const Placed& placed, int64_t place, int64_t row_tokens) {
  return place == 0 ? row_tokens - 1 - placed.number : placed.body + place - 1;
}

// Calls `each` with every sequence, in order.
template <typename Each>
void ForSequences(const BatchLayout& layout, const Each& each) {
  const SegmentTable table = layout.table();
  Placed placed = {-1, -1, 0, 0, 0, 0};
  for (int32_t s = 0; s < table.count; ++s) {
    const Segment& segment = table.segments[s];
    if (!segment.is_sequence()) continue;
    const int64_t row = segment.begin / table.row_tokens;
    const bool same_row = row == placed.row;
    placed.number = same_row ? placed.number + 1 : 0;
    placed.body = same_row ? placed.body + placed.tokens - 1 : 0;
    placed.row = row;
    placed.sequence = segment.sequences_before;
    placed.tokens = segment.real();
    placed.source = segment.source;
    each(placed);
  }
}

absl::Status CheckSize(absl::string_view name, size_t size, int64_t wanted) {
  if (size == static_cast<size_t>(wanted)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has ", size, " elements, it must have ", wanted));
}

// The first that is not OK.
absl::Status First(std::initializer_list<absl::Status> statuses) {
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckSources(const BatchLayout& layout,
                          const BertSources& sources) {
  const int64_t n = layout.sequences();
  const int64_t tokens = layout.sequence_tokens();
  absl::Status status =
      First({CheckSize("tokens", sources.tokens.size(), tokens),
             CheckSize("token_types", sources.token_types.size(), tokens),
             CheckSize("next_sentence_labels",
                       sources.next_sentence_labels.size(), n),
             CheckSize("masked_offsets", sources.masked_offsets.size(), n + 1),
             CheckSize("masked_ids", sources.masked_ids.size(),
                       static_cast<int64_t>(sources.masked_positions.size()))});
  if (!status.ok()) return status;
  for (size_t i = 0; i < sources.token_types.size(); ++i) {
    const int32_t type = sources.token_types[i];
    if (type == 0 || type == 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("token type ", i, " is ", type, ", it must be 0 or 1"));
  }
  const absl::Span<const uint64_t> offsets = sources.masked_offsets;
  const bool ascending = std::is_sorted(offsets.begin(), offsets.end());
  if (ascending && offsets.front() == 0 &&
      offsets.back() == sources.masked_positions.size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "masked_offsets must ascend from 0 to ", sources.masked_positions.size(),
      ", the number of masked positions; they go from ", offsets.front(),
      " to ", offsets.back(), ascending ? "" : " and descend between"));
}

absl::Status CheckOutputs(const BatchLayout& layout, const BertOptions& options,
                          const BertOutputs& outputs) {
  const int64_t tokens = layout.tokens();
  const int64_t masked = layout.rows() * options.max_masked;
  const int64_t sequences = layout.rows() * options.max_sequences;
  return First(
      {CheckSize("input_ids", outputs.input_ids.size(), tokens),
       CheckSize("segment_ids", outputs.segment_ids.size(), tokens),
       CheckSize("input_mask", outputs.input_mask.size(), tokens),
       CheckSize("position_ids", outputs.position_ids.size(), tokens),
       CheckSize("masked_lm_positions", outputs.masked_lm_positions.size(),
                 masked),
       CheckSize("masked_lm_ids", outputs.masked_lm_ids.size(), masked),
       CheckSize("masked_lm_mask", outputs.masked_lm_mask.size(), masked),
       CheckSize("next_sentence_labels", outputs.next_sentence_labels.size(),
                 sequences),
       CheckSize("next_sentence_mask", outputs.next_sentence_mask.size(),
                 sequences)});
}

// Rows of the layout as they were given, each sequence behind the other.
absl::Status CheckLayout(const BatchLayout& layout) {
  if (layout.rows() != layout.packs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the layout has ", layout.packs(), " packs in ",
                     layout.rows(), " row, each has to have a row of its own"));
  }
  if (layout.pad_mode() == PadMode::kTrim) {
    return absl::InvalidArgumentError(
        "pad_mode is trim, rows have to keep their padding");
  }
  return absl::OkStatus();
}

absl::Status CheckRows(const BatchLayout& layout, const BertOptions& options,
                       const BertSources& sources) {
  if (options.max_sequences < 1 || options.max_masked < 1 ||
      options.max_sequences > kMaxBatchTokens ||
      options.max_masked > kMaxBatchTokens) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_sequences is ", options.max_sequences, ", max_masked ",
        options.max_masked, ", they must be from 1 to ", kMaxBatchTokens));
  }
  absl::Status status;
  int64_t row = -1;
  int64_t masked = 0;
  ForSequences(layout, [&](const Placed& placed) {
    if (!status.ok()) return;
    if (placed.number >= options.max_sequences) {
      status = absl::InvalidArgumentError(
          absl::StrCat("row ", placed.row, " has more than ",
                       options.max_sequences, " sequences (max_sequences)"));
      return;
    }
    const uint64_t begin = sources.masked_offsets[placed.sequence];
    const uint64_t end = sources.masked_offsets[placed.sequence + 1];
    masked =
        (placed.row == row ? masked : 0) + static_cast<int64_t>(end - begin);
    row = placed.row;
    if (masked > options.max_masked) {
      status = absl::InvalidArgumentError(
          absl::StrCat("row ", row, " has ", masked,
                       " masked tokens or more, it has room for ",
                       options.max_masked, " (max_masked)"));
      return;
    }
    for (uint64_t i = begin; i < end; ++i) {
      const int64_t position = sources.masked_positions[i];
      if (position >= 0 && position < placed.tokens) continue;
      status = absl::InvalidArgumentError(
          absl::StrCat("masked position ", i, " is ", position,
                       ", its sequence has ", placed.tokens, " tokens"));
      return;
    }
  });
  return status;
}

template <typename T>
void Clear(absl::Span<T> values) {
  std::fill(values.begin(), values.end(), T{0});
}

}  // namespace

absl::Status FillBert(const BatchLayout& layout, const BertOptions& options,
                      const BertSources& sources, const BertOutputs& outputs) {
  if (auto status = CheckLayout(layout); !status.ok()) return status;
  if (auto status = CheckSources(layout, sources); !status.ok()) return status;
  if (auto status = CheckRows(layout, options, sources); !status.ok()) {
    return status;
  }
  if (auto status = CheckOutputs(layout, options, outputs); !status.ok()) {
    return status;
  }
  for (absl::Span<int32_t> array :
       {outputs.input_ids, outputs.segment_ids, outputs.input_mask,
        outputs.position_ids, outputs.masked_lm_positions,
        outputs.masked_lm_ids, outputs.next_sentence_labels}) {
    Clear(array);
  }
  Clear(outputs.masked_lm_mask);
  Clear(outputs.next_sentence_mask);

  const int64_t row_tokens = layout.row_tokens();
  int64_t row = -1;
  int64_t next_masked = 0;
  ForSequences(layout, [&](const Placed& placed) {
    const int64_t first = placed.row * row_tokens;
    for (int64_t i = 0; i < placed.tokens; ++i) {
      const int64_t t = first + PlaceInRow(placed, i, row_tokens);
      outputs.input_ids[t] = sources.tokens[placed.source + i];
      outputs.segment_ids[t] = sources.token_types[placed.source + i];
      outputs.input_mask[t] = static_cast<int32_t>(placed.number + 1);
      outputs.position_ids[t] = static_cast<int32_t>(i);
    }
    if (placed.row != row) next_masked = placed.row * options.max_masked;
    row = placed.row;
    for (uint64_t i = sources.masked_offsets[placed.sequence];
         i < sources.masked_offsets[placed.sequence + 1]; ++i) {
      outputs.masked_lm_positions[next_masked] = static_cast<int32_t>(
          PlaceInRow(placed, sources.masked_positions[i], row_tokens));
      outputs.masked_lm_ids[next_masked] = sources.masked_ids[i];
      outputs.masked_lm_mask[next_masked] =
          static_cast<float>(placed.number + 1);
      ++next_masked;
    }
    const int64_t slot = placed.row * options.max_sequences +
                         options.max_sequences - 1 - placed.number;
    outputs.next_sentence_labels[slot] =
        sources.next_sentence_labels[placed.sequence];
    outputs.next_sentence_mask[slot] = 1;
  });
  return absl::OkStatus();
}

}  // namespace packhouse
