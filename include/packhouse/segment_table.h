// Where segments lie in a batch, and what follows from it for one token, one
// block row or one word of a mask.
//
// A batch is `rows` rows of `row_tokens` tokens, one after another; a token's
// index runs over all of them. The table lists the segments in that order, and
// every element of every output is one of the functions below, of the table and
// of where the element stands: no sort, scan, atomic or second pass. So the CPU
// and the GPU run the same functions, and their outputs have equal bits.
//
// Plain C++ that nvcc compiles for both sides; nothing here allocates, throws
// or knows another part of Packhouse.

#ifndef PACKHOUSE_SEGMENT_TABLE_H_
#define PACKHOUSE_SEGMENT_TABLE_H_

#include <cstdint>

#ifdef __CUDACC__
#define PACKHOUSE_HD __host__ __device__
#else
#define PACKHOUSE_HD
#endif

namespace packhouse {

// Tokens [begin, attend_end) attend each other. Those from attend_end to the
// begin of the next segment are padding that nobody attends and that attends
// nobody. Always begin < attend_end.
struct Segment {
  int64_t source;      // its first token in the caller's buffer of tokens
  int32_t begin;       // its first token in the batch
  int32_t attend_end;  // behind the last token that attends and is attended
  int32_t real_end;    // behind its last token that is not padding
  int32_t attended_before;   // tokens that attend, in the segments before
  int32_t sequences_before;  // sequences in the segments before
  int32_t row_first;         // the first segment of its row
  int32_t row_sequences;     // sequences in the rows before
  int32_t origin;            // position of its first token

  // A segment of padding has no token that is not, all others are sequences.
  PACKHOUSE_HD bool is_sequence() const { return real_end > begin; }
  PACKHOUSE_HD int32_t attended() const { return attend_end - begin; }
  PACKHOUSE_HD int32_t real() const { return real_end - begin; }
};

struct SegmentTable {
  // `count` segments and one more, whose begin is the number of tokens and
  // whose sums are those of the batch.
  const Segment* segments;
  int32_t count;
  int32_t rows;
  int32_t row_tokens;
  // Whether positions run on over padding that nobody attends; else they are 0.
  bool positions_run_on;

  PACKHOUSE_HD int32_t tokens() const { return segments[count].begin; }
  PACKHOUSE_HD int32_t slot_end(int32_t s) const {
    return segments[s + 1].begin;
  }
};

// The half-open interval [begin, end); empty where begin >= end.
struct Interval {
  int32_t begin;
  int32_t end;

  PACKHOUSE_HD bool empty() const { return begin >= end; }
  PACKHOUSE_HD bool contains(int32_t i) const { return begin <= i && i < end; }
};

// Which pairs of one segment may attend. `window` is in tokens; it is read in
// the last two kinds only.
enum class MaskKind : int32_t {
  kDocument,         // every pair
  kCausal,           // key <= query
  kCausalWindow,     // query - window < key <= query: the token itself and
                     // window - 1 before it; window >= 1
  kSymmetricWindow,  // |query - key| <= window; window >= 0
};

struct Mask {
  MaskKind kind = MaskKind::kCausal;
  int32_t window = 0;
};

PACKHOUSE_HD inline bool HasWindow(Mask mask) {
  return mask.kind == MaskKind::kCausalWindow ||
         mask.kind == MaskKind::kSymmetricWindow;
}

PACKHOUSE_HD inline int32_t Least(int32_t a, int32_t b) {
  return a < b ? a : b;
}
PACKHOUSE_HD inline int32_t Most(int32_t a, int32_t b) { return a < b ? b : a; }

// a + b without wrapping; both are at least 0.
PACKHOUSE_HD inline int32_t SaturatedSum(int32_t a, int32_t b) {
  return a > INT32_MAX - b ? INT32_MAX : a + b;
}

PACKHOUSE_HD inline int32_t CeilDiv(int32_t a, int32_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

// The last segment whose `field`, which never decreases, is at most `value`.
// That of the first must be.
PACKHOUSE_HD inline int32_t FindLast(const SegmentTable& table,
                                     int32_t Segment::*field, int32_t value) {
  int32_t low = 0;
  int32_t high = table.count;
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    if (table.segments[middle].*field <= value) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// The segment that owns token t, which is below tokens().
PACKHOUSE_HD inline int32_t FindSegment(const SegmentTable& table, int32_t t) {
  return FindLast(table, &Segment::begin, t);
}

// The first segment of row `row`; the number of segments for that behind the
// last row.
PACKHOUSE_HD inline int32_t FirstOfRow(const SegmentTable& table, int32_t row) {
  return row == table.rows ? table.count
                           : FindSegment(table, row * table.row_tokens);
}

// The tokens that token q of `segment` attends. Over the tokens of a batch that
// attend at all, begin and end never decrease.
PACKHOUSE_HD inline Interval AllowedKeys(const Segment& segment, Mask mask,
                                         int32_t q) {
  if (q >= segment.attend_end) return {q, q};
  switch (mask.kind) {
    case MaskKind::kDocument:
      return {segment.begin, segment.attend_end};
    case MaskKind::kCausal:
      return {segment.begin, q + 1};
    case MaskKind::kCausalWindow:
      return {Most(segment.begin, q - (mask.window - 1)), q + 1};
    case MaskKind::kSymmetricWindow:
      return {Most(segment.begin, q - mask.window),
              Least(segment.attend_end, SaturatedSum(q + 1, mask.window))};
  }
  return {q, q};
}

// The tokens that attend token k of `segment`.
PACKHOUSE_HD inline Interval AllowedQueries(const Segment& segment, Mask mask,
                                            int32_t k) {
  if (k >= segment.attend_end) return {k, k};
  switch (mask.kind) {
    case MaskKind::kDocument:
      return {segment.begin, segment.attend_end};
    case MaskKind::kCausal:
      return {k, segment.attend_end};
    case MaskKind::kCausalWindow:
      return {k, Least(segment.attend_end, SaturatedSum(k, mask.window))};
    case MaskKind::kSymmetricWindow:
      return AllowedKeys(segment, mask, k);
  }
  return {k, k};
}

// Which blocks of a block row hold an allowed pair, and in which every pair is
// allowed: those of [some.begin, some.end) and of [full.begin, full.end), which
// lies within. Where none is full, full is empty and begins at some.end, so
// that [some.begin, full.begin) and [full.end, some.end) are the partial ones
// always.
struct BlockRuns {
  Interval some;
  Interval full;

  PACKHOUSE_HD int32_t partial_count() const {
    return full.begin - some.begin + (some.end - full.end);
  }
  PACKHOUSE_HD int32_t full_count() const { return full.end - full.begin; }
};

// How a mask is cut into blocks.
struct BlockShape {
  int32_t q = 128;
  int32_t kv = 128;
  // Whether a block that the edge of the row cuts is full where all of its
  // pairs in the row are allowed. PyTorch says no, FlashAttention 4 yes.
  bool edge_full = false;
};

// Which side of the mask a block table is made for.
enum class BlockSide : int32_t {
  kQueries,  // a block row of queries: which blocks of keys
  kKeys,     // a block of keys: which block rows of queries (the transpose)
};

// The blocks of block row `block_row` of row `row`. Exact where no padding that
// nobody attends lies between tokens that are, or where such padding is shorter
// than both sides of a block (BatchLayout::CheckBlocks).
PACKHOUSE_HD inline BlockRuns RunsOfBlockRow(const SegmentTable& table,
                                             Mask mask, BlockShape shape,
                                             BlockSide side, int32_t row,
                                             int32_t block_row) {
  const bool queries = side == BlockSide::kQueries;
  const int32_t own = queries ? shape.q : shape.kv;
  const int32_t other = queries ? shape.kv : shape.q;
  const int32_t row_begin = row * table.row_tokens;
  const int32_t row_end = row_begin + table.row_tokens;
  // The last block row ends where the row does.
  const int32_t begin = row_begin + block_row * own;
  const bool cut = own > row_end - begin;
  const int32_t end = cut ? row_end : begin + own;

  // Its first and last token that attends.
  int32_t first_segment = FindSegment(table, begin);
  int32_t first = begin;
  if (first >= table.segments[first_segment].attend_end) {
    ++first_segment;
    first = table.segments[first_segment].begin;
  }
  const int32_t last_segment = FindSegment(table, end - 1);
  const int32_t last = Least(end, table.segments[last_segment].attend_end) - 1;
  if (first > last) return {{0, 0}, {0, 0}};

  const Segment& low = table.segments[first_segment];
  const Segment& high = table.segments[last_segment];
  const Interval of_first = queries ? AllowedKeys(low, mask, first)
                                    : AllowedQueries(low, mask, first);
  const Interval of_last = queries ? AllowedKeys(high, mask, last)
                                   : AllowedQueries(high, mask, last);
  const Interval some = {(of_first.begin - row_begin) / other,
                         CeilDiv(of_last.end - row_begin, other)};

  // Full: allowed for the first and for the last, hence for all between.
  const bool complete =
      first == begin && last == end - 1 && (!cut || shape.edge_full);
  if (!complete) return {some, {some.end, some.end}};
  const bool to_edge = shape.edge_full && of_first.end == row_end;
  const Interval full = {CeilDiv(of_last.begin - row_begin, other),
                         to_edge ? CeilDiv(table.row_tokens, other)
                                 : (of_first.end - row_begin) / other};
  if (full.empty()) return {some, {some.end, some.end}};
  return {some, full};
}

// What stands in slot t of the index row of the partial blocks: those
// ascending, then all `blocks` others ascending, as torch's stable sort leaves
// them.
PACKHOUSE_HD inline int32_t PartialSlot(const BlockRuns& runs, int32_t t) {
  const int32_t head = runs.full.begin - runs.some.begin;
  if (t < head) return runs.some.begin + t;
  t -= head;
  const int32_t tail = runs.some.end - runs.full.end;
  if (t < tail) return runs.full.end + t;
  t -= tail;
  if (t < runs.some.begin) return t;
  t -= runs.some.begin;
  if (t < runs.full_count()) return runs.full.begin + t;
  return runs.some.end + (t - runs.full_count());
}

// The same for the full blocks.
PACKHOUSE_HD inline int32_t FullSlot(const BlockRuns& runs, int32_t t) {
  if (t < runs.full_count()) return runs.full.begin + t;
  t -= runs.full_count();
  return t < runs.full.begin ? t : t + runs.full_count();
}

// The segment that token i of a share among `ranks` is of: shares of segments
// begin where begin / ranks says.
PACKHOUSE_HD inline int32_t SegmentOfShare(const SegmentTable& table,
                                           int32_t ranks, int32_t i) {
  int32_t low = 0;
  int32_t high = table.count;
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    if (table.segments[middle].begin / ranks <= i) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Where rank `rank` of `ranks` of a context-parallel group finds token i of its
// share, which is of `segment`. Every slot (a segment with the padding behind
// it) is cut into 2 x ranks equal chunks; a rank has chunks `rank` and 2 x
// ranks - 1 - rank of each, so that causal attention costs all ranks the same.
// Requires slots that are multiples of 2 x ranks. (Transformer Engine's order;
// PyTorch's since it is rank-major.)
PACKHOUSE_HD inline int32_t ShareToken(const SegmentTable& table, int32_t ranks,
                                       int32_t rank, int32_t segment,
                                       int32_t i) {
  const int32_t begin = table.segments[segment].begin;
  const int32_t chunk = (table.slot_end(segment) - begin) / (2 * ranks);
  const int32_t local = i - begin / ranks;
  if (local < chunk) return begin + rank * chunk + local;
  return begin + (2 * ranks - 1 - rank) * chunk + (local - chunk);
}

// Where token t stands when the shares of all ranks lie one after another: the
// inverse of ShareToken.
PACKHOUSE_HD inline int32_t SharePlace(const SegmentTable& table, int32_t ranks,
                                       int32_t segment, int32_t t) {
  const int32_t begin = table.segments[segment].begin;
  const int32_t chunk = (table.slot_end(segment) - begin) / (2 * ranks);
  const int32_t local = t - begin;
  const int32_t piece = local / chunk;
  const bool head = piece < ranks;
  const int32_t rank = head ? piece : 2 * ranks - 1 - piece;
  const int32_t share = table.tokens() / ranks;
  return rank * share + begin / ranks + (head ? 0 : chunk) + local % chunk;
}

}  // namespace packhouse

#endif  // PACKHOUSE_SEGMENT_TABLE_H_
