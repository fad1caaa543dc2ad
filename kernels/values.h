// What one element of a format is (packhouse/format.h): functions of the
// segment table and of where the element stands, for both sides of nvcc.
//
// A value is its bits in the low bytes of an int64_t, so that one store routine
// serves every type.

#ifndef PACKHOUSE_KERNELS_VALUES_H_
#define PACKHOUSE_KERNELS_VALUES_H_

#include <cstdint>
#include <cstring>

#include "packhouse/format.h"
#include "packhouse/segment_table.h"

namespace packhouse {

// Tokens of 2 (unsigned), 4 or 8 bytes; null where there are none.
struct SourceView {
  const void* data;
  int32_t bytes;

  PACKHOUSE_HD int64_t operator[](int64_t i) const {
    switch (bytes) {
      case 2:
        return static_cast<const uint16_t*>(data)[i];
      case 4:
        return static_cast<const int32_t*>(data)[i];
      default:
        return static_cast<const int64_t*>(data)[i];
    }
  }
};

// All that values depend on.
struct ValueContext {
  SegmentTable table;
  Mask mask;
  BlockShape blocks;
  bool dq_kv_order;
  LabelShift label_shift;
  RowFill row_fill;
  int32_t cp_ranks;
  int64_t pad_id;
  int64_t ignore_id;
  int64_t source_ignore_id;
  int64_t position_start;
  int64_t ragged_stride;
  SourceView tokens;
  SourceView labels;
  // For each sequence `target_lanes` counts, whose sum is that of its tokens to
  // be learned; null where these follow from lengths alone.
  const int32_t* target_counts;
  int32_t target_lanes;
};

// Whether a mask looks at keys behind the query.
PACKHOUSE_HD inline bool LooksBothWays(Mask mask) {
  return mask.kind == MaskKind::kDocument ||
         mask.kind == MaskKind::kSymmetricWindow;
}

PACKHOUSE_HD inline int64_t FloatBits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// ------------------------------------------------------------------- labels --

// The tokens of a sequence at which a label can stand, by its convention.
PACKHOUSE_HD inline Interval LabelPlaces(const Segment& segment,
                                         LabelShift shift) {
  switch (shift) {
    case LabelShift::kByModel:
      return {segment.begin + 1, segment.real_end};
    case LabelShift::kShifted:
      return {segment.begin, segment.real_end - 1};
    case LabelShift::kNone:
      return {segment.begin, segment.real_end};
  }
  return {segment.begin, segment.begin};
}

// Where in the source the label of token t stands, which is a place of one.
PACKHOUSE_HD inline int64_t LabelSource(const Segment& segment,
                                        LabelShift shift, int32_t t) {
  return segment.source + (t - segment.begin) +
         (shift == LabelShift::kShifted ? 1 : 0);
}

PACKHOUSE_HD inline int64_t LabelValue(const ValueContext& context,
                                       const Segment& segment, int32_t t) {
  if (!LabelPlaces(segment, context.label_shift).contains(t)) {
    return context.ignore_id;
  }
  const int64_t label =
      context.labels[LabelSource(segment, context.label_shift, t)];
  return label == context.source_ignore_id ? context.ignore_id : label;
}

// Whether there is something to learn at token t.
PACKHOUSE_HD inline bool IsTarget(const ValueContext& context,
                                  const Segment& segment, int32_t t) {
  if (!LabelPlaces(segment, context.label_shift).contains(t)) return false;
  return context.labels.data == nullptr ||
         context.labels[LabelSource(segment, context.label_shift, t)] !=
             context.source_ignore_id;
}

// How many such tokens a segment has; padding has none, and no counts.
PACKHOUSE_HD inline int32_t Targets(const ValueContext& context,
                                    const Segment& segment) {
  if (!segment.is_sequence()) return 0;
  if (context.target_counts == nullptr) {
    const Interval places = LabelPlaces(segment, context.label_shift);
    return places.empty() ? 0 : places.end - places.begin;
  }
  const int64_t first =
      static_cast<int64_t>(segment.sequences_before) * context.target_lanes;
  int32_t sum = 0;
  for (int32_t lane = 0; lane < context.target_lanes; ++lane) {
    sum += context.target_counts[first + lane];
  }
  return sum;
}

// The share of one lane in the count of a sequence's targets.
PACKHOUSE_HD inline int32_t CountTargets(const ValueContext& context,
                                         const Segment& segment, int32_t lane,
                                         int32_t lanes) {
  int32_t count = 0;
  const Interval places = LabelPlaces(segment, context.label_shift);
  for (int64_t t = int64_t{places.begin} + lane; t < places.end; t += lanes) {
    count += IsTarget(context, segment, static_cast<int32_t>(t)) ? 1 : 0;
  }
  return count;
}

// ------------------------------------------------------------------- tokens --

// Where the row of `segment` begins.
PACKHOUSE_HD inline int32_t RowBegin(const SegmentTable& table,
                                     const Segment& segment) {
  return table.segments[segment.row_first].begin;
}

PACKHOUSE_HD inline int64_t PositionValue(const ValueContext& context,
                                          const Segment& segment, int32_t t) {
  const bool counts = t < segment.attend_end || context.table.positions_run_on;
  if (!counts) return 0;
  return context.position_start + segment.origin + (t - segment.begin);
}

// The queries that attend key t, as PaddlePaddle's startend_row_indices:
// column 0 is the end, column 1 the begin.
PACKHOUSE_HD inline int64_t FlashMaskValue(const ValueContext& context,
                                           const Segment& segment, int32_t t,
                                           int32_t column) {
  const Interval queries = AllowedQueries(segment, context.mask, t);
  if (queries.empty()) return 0;
  return (column == 0 ? queries.end : queries.begin) -
         RowBegin(context.table, segment);
}

// Element t of a format that has one for each token; `s` owns token t.
PACKHOUSE_HD inline int64_t TokenValue(const ValueContext& context,
                                       Format format, int32_t s, int32_t t) {
  const Segment& segment = context.table.segments[s];
  const bool real = t < segment.real_end;
  switch (format) {
    case Format::kInputIds:
      return real ? context.tokens[segment.source + (t - segment.begin)]
                  : context.pad_id;
    case Format::kLabels:
      return LabelValue(context, segment, t);
    case Format::kPositionIds:
      return PositionValue(context, segment, t);
    case Format::kSegmentIds:
      return s - segment.row_first;
    case Format::kSequenceIds:
      return real ? segment.sequences_before - segment.row_sequences + 1 : 0;
    case Format::kSeqIdx:
      return real ? segment.sequences_before - segment.row_sequences : -1;
    case Format::kPaddingMask:
      return real ? 0 : 1;
    case Format::kLossMask:
      return FloatBits(IsTarget(context, segment, t) ? 1.0f : 0.0f);
    case Format::kLossWeights:
      return FloatBits(IsTarget(context, segment, t)
                           ? 1.0f /
                                 static_cast<float>(Targets(context, segment))
                           : 0.0f);
    case Format::kKvStart:
    case Format::kKvEnd: {
      const Interval keys = AllowedKeys(segment, context.mask, t);
      return (format == Format::kKvStart ? keys.begin : keys.end) -
             RowBegin(context.table, segment);
    }
    case Format::kCpInverse:
      return SharePlace(context.table, context.cp_ranks, s, t);
    default:
      return 0;
  }
}

// ----------------------------------------------------------- all the others --

// Of segment i; what is beyond the last as packhouse/format.h says.
PACKHOUSE_HD inline int64_t SegmentValue(const ValueContext& context,
                                         Format format, int64_t i) {
  const SegmentTable& table = context.table;
  const int32_t s = i < table.count ? static_cast<int32_t>(i) : table.count;
  const Segment& segment = table.segments[s];
  switch (format) {
    case Format::kCuSeqlens:
      return segment.attended_before;
    case Format::kCuSeqlensPadded:
      return segment.begin;
    case Format::kRaggedOffsets:
      return segment.begin * context.ragged_stride;
    case Format::kSeqUsed:
      return segment.attended();
    default:
      return 0;
  }
}

// Of the sequence with number i in the batch.
PACKHOUSE_HD inline int64_t SequenceValue(const ValueContext& context,
                                          Format format, int64_t i) {
  const SegmentTable& table = context.table;
  if (i >= table.segments[table.count].sequences_before) return 0;
  const Segment& segment = table.segments[FindLast(
      table, &Segment::sequences_before, static_cast<int32_t>(i))];
  return format == Format::kTargets ? Targets(context, segment)
                                    : segment.real();
}

// Sequences in the rows before `row`.
PACKHOUSE_HD inline int32_t SequencesBeforeRow(const SegmentTable& table,
                                               int32_t row) {
  return table.segments[FirstOfRow(table, row)].sequences_before;
}

// Of place `column` of row `row`, for formats with a line for each row.
PACKHOUSE_HD inline int64_t RowValue(const ValueContext& context, Format format,
                                     int32_t row, int32_t column) {
  const SegmentTable& table = context.table;
  const int32_t first = FirstOfRow(table, row);
  const int32_t row_begin = table.segments[first].begin;
  if (format == Format::kRowCuSeqlens || format == Format::kDocLens) {
    const int32_t count = FirstOfRow(table, row + 1) - first;
    if (format == Format::kDocLens) {
      return column < count ? table.slot_end(first + column) -
                                  table.segments[first + column].begin
                            : 0;
    }
    if (column <= count)
      return table.segments[first + column].begin - row_begin;
    return context.row_fill == RowFill::kMinusOne ? -1 : table.row_tokens;
  }
  const int32_t sequence = table.segments[first].sequences_before;
  const int32_t count = SequencesBeforeRow(table, row + 1) - sequence;
  if (format == Format::kSequencesPerRow) return count;
  const bool first_tokens = format == Format::kFirstTokenIndex;
  if (column >= count) return first_tokens ? -1 : 0;
  const Segment& segment = table.segments[FindLast(
      table, &Segment::sequences_before, sequence + column)];
  return first_tokens ? segment.begin - row_begin : segment.real();
}

// Of all blocks of keys that have pairs with a block of queries, which are
// `keys`, how many come before `key_block`, or after it. Counts both full and
// partial ones.
PACKHOUSE_HD inline int32_t TurnOf(const ValueContext& context,
                                   const BlockRuns& keys, int32_t key_block) {
  const int32_t count = keys.some.end - keys.some.begin;
  const int32_t before = Least(Most(key_block - keys.some.begin, 0), count);
  return context.dq_kv_order ? count - 1 - before : before;
}

// Of slot `slot` of the index row of a block of keys: its turn at the block of
// queries there.
PACKHOUSE_HD inline int64_t WriteOrderValue(const ValueContext& context,
                                            bool full, int32_t line,
                                            int32_t slot) {
  const SegmentTable& table = context.table;
  const int32_t key_blocks = CeilDiv(table.row_tokens, context.blocks.kv);
  const int32_t row = line / key_blocks;
  const int32_t key_block = line % key_blocks;
  const BlockRuns queries = RunsOfBlockRow(table, context.mask, context.blocks,
                                           BlockSide::kKeys, row, key_block);
  const int32_t query_block =
      full ? FullSlot(queries, slot) : PartialSlot(queries, slot);
  const BlockRuns keys = RunsOfBlockRow(table, context.mask, context.blocks,
                                        BlockSide::kQueries, row, query_block);
  return TurnOf(context, keys, key_block);
}

// Element i of a format whose elements are not the tokens one by one. `width`
// is the last dimension of one with a line for each row.
PACKHOUSE_HD inline int64_t ElementValue(const ValueContext& context,
                                         Format format, int32_t width,
                                         uint32_t i) {
  const SegmentTable& table = context.table;
  switch (format) {
    case Format::kUnpadIndices: {
      const int32_t attended = static_cast<int32_t>(i);
      const Segment& segment =
          table.segments[FindLast(table, &Segment::attended_before, attended)];
      return segment.begin + (attended - segment.attended_before);
    }
    case Format::kCpIndices: {
      const uint32_t share =
          static_cast<uint32_t>(table.tokens() / context.cp_ranks);
      const int32_t place = static_cast<int32_t>(i % share);
      return ShareToken(table, context.cp_ranks,
                        static_cast<int32_t>(i / share),
                        SegmentOfShare(table, context.cp_ranks, place), place);
    }
    case Format::kFlashMask: {
      const uint32_t columns = LooksBothWays(context.mask) ? 2 : 1;
      const int32_t t = static_cast<int32_t>(i / columns);
      return FlashMaskValue(context, table.segments[FindSegment(table, t)], t,
                            static_cast<int32_t>(i % columns));
    }
    case Format::kSequenceTokens:
    case Format::kTargets:
      return SequenceValue(context, format, i);
    case Format::kSequencesPerRow:
    case Format::kRowCuSeqlens:
    case Format::kDocLens:
    case Format::kSequenceLengths:
    case Format::kFirstTokenIndex:
      return RowValue(context, format,
                      static_cast<int32_t>(i / static_cast<uint32_t>(width)),
                      static_cast<int32_t>(i % static_cast<uint32_t>(width)));
    case Format::kDqWriteOrder:
    case Format::kDqWriteOrderFull:
      return WriteOrderValue(
          context, format == Format::kDqWriteOrderFull,
          static_cast<int32_t>(i / static_cast<uint32_t>(width)),
          static_cast<int32_t>(i % static_cast<uint32_t>(width)));
    default:
      return SegmentValue(context, format, i);
  }
}

}  // namespace packhouse

#endif  // PACKHOUSE_KERNELS_VALUES_H_
