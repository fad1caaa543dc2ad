// What is to be written, as plain values, and the bodies of the kernels that
// write it: functions of (block, thread) for both sides of nvcc.
//
// A job is all that one launch needs but the table of segments, which lies
// where its threads can read it. Body(job, table, block, thread) is run by
// every thread of `blocks()` blocks of kThreads; threads share nothing, so any
// order of them gives the same bytes: the GPU runs them at once, a test one
// after another. Memory is written in stores of 16 bytes where the address
// allows, with narrower ones at ragged ends.

#ifndef PACKHOUSE_KERNELS_JOBS_H_
#define PACKHOUSE_KERNELS_JOBS_H_

#include <cstdint>
#include <cstring>

#include "kernels/values.h"
#include "packhouse/format.h"
#include "packhouse/segment_table.h"

namespace packhouse {

inline constexpr int32_t kThreads = 256;

// In front of loops over small arrays, which are then registers.
#ifdef __CUDA_ARCH__
#define PACKHOUSE_UNROLL _Pragma("unroll")
#else
#define PACKHOUSE_UNROLL
#endif

// ------------------------------------------------------------------- stores --

struct alignas(16) Bytes16 {
  uint32_t words[4];
};

PACKHOUSE_HD inline void StoreBytes16(void* at, const Bytes16& bytes) {
#ifdef __CUDA_ARCH__
  *static_cast<uint4*>(at) = make_uint4(bytes.words[0], bytes.words[1],
                                        bytes.words[2], bytes.words[3]);
#else
  memcpy(at, &bytes, sizeof(bytes));
#endif
}

PACKHOUSE_HD inline bool IsAligned(const void* at, uint32_t bytes) {
  return reinterpret_cast<uintptr_t>(at) % bytes == 0;
}

// Element i of `data`, whose elements have 1, 2, 4 or 8 bytes.
PACKHOUSE_HD inline void StoreElement(void* data, int32_t bytes, int64_t i,
                                      int64_t value) {
  switch (bytes) {
    case 1:
      static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(value);
      return;
    case 2:
      static_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(value);
      return;
    case 4:
      static_cast<uint32_t*>(data)[i] = static_cast<uint32_t>(value);
      return;
    default:
      static_cast<uint64_t*>(data)[i] = static_cast<uint64_t>(value);
      return;
  }
}

// Elements i to i + count - 1, of which there are at most four.
PACKHOUSE_HD inline void StoreGroup(void* data, int32_t bytes, int64_t i,
                                    const int64_t (&values)[4], int32_t count) {
  uint8_t* const at = static_cast<uint8_t*>(data) + i * bytes;
  if (count == 4 && bytes == 4 && IsAligned(at, 16)) {
    Bytes16 packed;
    PACKHOUSE_UNROLL for (int k = 0; k < 4; ++k) {
      packed.words[k] = static_cast<uint32_t>(values[k]);
    }
    StoreBytes16(at, packed);
    return;
  }
  if (count == 4 && bytes == 8 && IsAligned(at, 16)) {
    for (int half = 0; half < 2; ++half) {
      Bytes16 packed;
      for (int k = 0; k < 2; ++k) {
        const uint64_t value = static_cast<uint64_t>(values[2 * half + k]);
        packed.words[2 * k] = static_cast<uint32_t>(value);
        packed.words[2 * k + 1] = static_cast<uint32_t>(value >> 32);
      }
      StoreBytes16(at + 16 * half, packed);
    }
    return;
  }
  PACKHOUSE_UNROLL for (int32_t k = 0; k < 4; ++k) {
    if (k < count) StoreElement(data, bytes, i + k, values[k]);
  }
}

// ----------------------------------------------- arrays of single elements --

// An array whose elements are values of kernels/values.h.
struct ArrayOutput {
  void* data;
  int64_t count;
  Format format;
  int32_t bytes;  // of an element
  int32_t width;  // of a line, for formats with a line for each row
};

inline constexpr int32_t kMaxArrays = 28;  // formats that are such

// All of them in one launch: those with an element for each token share the
// search for its segment. A thread writes a group of four elements.
struct ArraysJob {
  ValueContext context;
  int32_t token_arrays;  // the first of `arrays`; each has `tokens` elements
  int32_t all_arrays;
  int32_t tokens;
  ArrayOutput arrays[kMaxArrays];

  PACKHOUSE_HD static int64_t Groups(int64_t count) { return (count + 3) / 4; }

  int64_t blocks() const {
    int64_t groups = token_arrays > 0 ? Groups(tokens) : 0;
    for (int32_t a = token_arrays; a < all_arrays; ++a) {
      groups += Groups(arrays[a].count);
    }
    return (groups + kThreads - 1) / kThreads;
  }
};

PACKHOUSE_HD inline void WriteTokens(const ArraysJob& job,
                                     const ValueContext& context,
                                     int32_t first) {
  const SegmentTable& table = context.table;
  const int32_t count = Least(4, job.tokens - first);
  // All loops are of four steps, which leaves the arrays in registers; what is
  // beyond the last token is that token again, and not stored.
  int32_t segments[4];
  int32_t tokens[4];
  int32_t s = FindSegment(table, first);
  PACKHOUSE_UNROLL for (int32_t k = 0; k < 4; ++k) {
    tokens[k] = first + Least(k, count - 1);
    while (tokens[k] >= table.slot_end(s)) ++s;
    segments[k] = s;
  }
  for (int32_t a = 0; a < job.token_arrays; ++a) {
    const ArrayOutput& array = job.arrays[a];
    int64_t values[4];
    PACKHOUSE_UNROLL for (int32_t k = 0; k < 4; ++k) {
      values[k] = TokenValue(context, array.format, segments[k], tokens[k]);
    }
    StoreGroup(array.data, array.bytes, first, values, count);
  }
}

PACKHOUSE_HD inline void WriteElements(const ArrayOutput& array,
                                       const ValueContext& context,
                                       int64_t first) {
  const int64_t left = array.count - first;
  const int32_t count = left < 4 ? static_cast<int32_t>(left) : 4;
  int64_t values[4];
  PACKHOUSE_UNROLL for (int32_t k = 0; k < 4; ++k) {
    values[k] =
        ElementValue(context, array.format, array.width,
                     static_cast<uint32_t>(first + Least(k, count - 1)));
  }
  StoreGroup(array.data, array.bytes, first, values, count);
}

PACKHOUSE_HD inline void Body(const ArraysJob& job, const SegmentTable& table,
                              int64_t block, int32_t thread) {
  ValueContext context = job.context;
  context.table = table;
  int64_t group = block * kThreads + thread;
  if (job.token_arrays > 0) {
    const int64_t groups = ArraysJob::Groups(job.tokens);
    if (group < groups) {
      WriteTokens(job, context, static_cast<int32_t>(4 * group));
      return;
    }
    group -= groups;
  }
  for (int32_t a = job.token_arrays; a < job.all_arrays; ++a) {
    const int64_t groups = ArraysJob::Groups(job.arrays[a].count);
    if (group < groups) {
      WriteElements(job.arrays[a], context, 4 * group);
      return;
    }
    group -= groups;
  }
}

// ---------------------------------------------------- tokens to be learned --

inline constexpr int32_t kTargetLanes = 32;

// Counts them, in kTargetLanes parts for each sequence: before an ArraysJob
// that reads them. A thread writes one part.
struct TargetsJob {
  ValueContext context;
  int32_t sequences;
  int32_t* counts;  // [sequences, kTargetLanes]

  int64_t blocks() const {
    return (int64_t{sequences} * kTargetLanes + kThreads - 1) / kThreads;
  }
};

PACKHOUSE_HD inline void Body(const TargetsJob& job, const SegmentTable& table,
                              int64_t block, int32_t thread) {
  const int64_t part = block * kThreads + thread;
  const int32_t sequence = static_cast<int32_t>(part / kTargetLanes);
  if (sequence >= job.sequences) return;
  ValueContext context = job.context;
  context.table = table;
  int32_t count = 0;
  if (sequence < table.segments[table.count].sequences_before) {
    const Segment& segment =
        table.segments[FindLast(table, &Segment::sequences_before, sequence)];
    count =
        CountTargets(context, segment,
                     static_cast<int32_t>(part % kTargetLanes), kTargetLanes);
  }
  job.counts[part] = count;
}

// ------------------------------------------------------------- block tables --

// The tables of one side of a BlockMask; null where one is not wanted.
struct BlockTables {
  int32_t* num_blocks;
  int32_t* indices;
  int32_t* full_num_blocks;
  int32_t* full_indices;

  PACKHOUSE_HD bool has_indices() const {
    return indices != nullptr || full_indices != nullptr;
  }
  PACKHOUSE_HD bool wanted() const {
    return num_blocks != nullptr || full_num_blocks != nullptr || has_indices();
  }
};

inline constexpr int32_t kSlotsPerThread = 16;

// Elements of a table at most. Each thread of its side writes one at least, so
// that threads too are divided as numbers of 32 bits.
inline constexpr int64_t kMaxBlockElements = UINT32_MAX;

// All eight in one launch: a thread writes kSlotsPerThread slots of a block row
// in both index tables of a side, the first also its counts, which is all there
// is where no index table is wanted.
struct BlocksJob {
  SegmentTable table;
  Mask mask;
  BlockShape shape;
  BlockTables sides[2];  // by BlockSide

  PACKHOUSE_HD int32_t block_rows(int32_t side) const {
    return CeilDiv(table.row_tokens, side == 0 ? shape.q : shape.kv);
  }
  PACKHOUSE_HD int32_t slots(int32_t side) const {
    return block_rows(1 - side);
  }
  PACKHOUSE_HD int32_t threads_per_row(int32_t side) const {
    return sides[side].has_indices() ? CeilDiv(slots(side), kSlotsPerThread)
                                     : 1;
  }
  PACKHOUSE_HD int64_t threads(int32_t side) const {
    if (!sides[side].wanted()) return 0;
    return int64_t{table.rows} * block_rows(side) * threads_per_row(side);
  }

  int64_t blocks() const {
    return (threads(0) + threads(1) + kThreads - 1) / kThreads;
  }
};

// Slots `first` to `first` + count - 1 of an index row that begins at `row`.
PACKHOUSE_HD inline void WriteSlots(const BlockRuns& runs, bool full,
                                    int32_t* row, int32_t first,
                                    int32_t count) {
  if (row == nullptr) return;
  for (int32_t done = 0; done < count; done += 4) {
    const int32_t group = Least(4, count - done);
    int64_t values[4];
    PACKHOUSE_UNROLL for (int32_t k = 0; k < 4; ++k) {
      const int32_t slot = first + done + k;
      values[k] = full ? FullSlot(runs, slot) : PartialSlot(runs, slot);
    }
    StoreGroup(row, sizeof(int32_t), first + done, values, group);
  }
}

PACKHOUSE_HD inline int32_t* RowOf(int32_t* indices, int64_t line,
                                   int32_t slots) {
  return indices == nullptr ? nullptr : indices + line * slots;
}

PACKHOUSE_HD inline void Body(const BlocksJob& job, const SegmentTable& table,
                              int64_t block, int32_t thread) {
  int64_t item = block * kThreads + thread;
  int32_t side = 0;
  if (item >= job.threads(0)) {
    item -= job.threads(0);
    side = 1;
  }
  if (item >= job.threads(side)) return;
  const BlockTables& tables = job.sides[side];
  const uint32_t per_row = static_cast<uint32_t>(job.threads_per_row(side));
  const uint32_t item32 = static_cast<uint32_t>(item);  // kMaxBlockElements
  const uint32_t line = item32 / per_row;               // block row of all rows
  const int32_t first =
      static_cast<int32_t>(item32 % per_row) * kSlotsPerThread;
  const uint32_t block_rows = static_cast<uint32_t>(job.block_rows(side));
  const BlockRuns runs =
      RunsOfBlockRow(table, job.mask, job.shape, static_cast<BlockSide>(side),
                     static_cast<int32_t>(line / block_rows),
                     static_cast<int32_t>(line % block_rows));
  const int32_t slots = job.slots(side);
  const int32_t count = Least(kSlotsPerThread, slots - first);
  WriteSlots(runs, false, RowOf(tables.indices, line, slots), first, count);
  WriteSlots(runs, true, RowOf(tables.full_indices, line, slots), first, count);
  if (first != 0) return;
  if (tables.num_blocks != nullptr) {
    tables.num_blocks[line] = runs.partial_count();
  }
  if (tables.full_num_blocks != nullptr) {
    tables.full_num_blocks[line] = runs.full_count();
  }
}

// -------------------------------------------------------------- dense masks --

inline constexpr int32_t kLanes = 32;                 // threads on one line
inline constexpr int32_t kLines = kThreads / kLanes;  // of a block

struct DenseTensor {
  void* data;
  int64_t pitch;  // elements
  int32_t bytes;  // of an element: 1, 2 or 4
  uint32_t allowed;
  uint32_t denied;
};

// A mask of S x S elements for each row.
struct DenseJob {
  SegmentTable table;
  Mask mask;
  DenseTensor tensor;
  bool empty_rows;

  PACKHOUSE_HD int32_t lines() const { return table.rows * table.row_tokens; }
  int64_t blocks() const { return CeilDiv(lines(), kLines); }
};

// The keys that token t attends in a dense mask, in its row.
PACKHOUSE_HD inline Interval DenseKeys(const SegmentTable& table, Mask mask,
                                       bool empty_rows, int32_t s, int32_t t) {
  Interval keys = AllowedKeys(table.segments[s], mask, t);
  if (keys.empty() && !empty_rows) keys = {t, t + 1};
  const int32_t row_begin = t - t % table.row_tokens;
  return {keys.begin - row_begin, keys.end - row_begin};
}

// What a line of a dense mask is: `allowed` for keys of an interval.
struct IntervalLine {
  Interval keys;
  uint32_t allowed;
  uint32_t denied;

  PACKHOUSE_HD uint32_t operator[](int64_t key) const {
    return key >= keys.begin && key < keys.end ? allowed : denied;
  }
  // Whether keys [begin, end) have one value, that of `begin`.
  PACKHOUSE_HD bool uniform(int64_t begin, int64_t end) const {
    return (begin >= keys.begin && end <= keys.end) || begin >= keys.end ||
           end <= keys.begin;
  }
};

// 16 bytes of a line: elements `first` on, of which all exist.
template <typename Line>
PACKHOUSE_HD Bytes16 LineWord(const Line& line, int64_t first, int32_t bytes) {
  const int32_t per_word = 4 / bytes;  // elements of a 32-bit word
  const uint32_t spread = bytes == 1   ? 0x01010101u
                          : bytes == 2 ? 0x00010001u
                                       : 1u;
  Bytes16 word;
  for (int32_t w = 0; w < 4; ++w) {
    const int64_t begin = first + int64_t{w} * per_word;
    if (line.uniform(begin, begin + per_word)) {
      word.words[w] = line[begin] * spread;
      continue;
    }
    uint32_t value = 0;
    for (int32_t k = 0; k < per_word; ++k) {
      value |= line[begin + k] << (8 * bytes * k);
    }
    word.words[w] = value;
  }
  return word;
}

// Writes a line of `elements` at `begin`. `lane` of kLanes threads takes every
// kLanes-th aligned 16 bytes that the line reaches into.
template <typename Line>
PACKHOUSE_HD void WriteLine(const Line& line, void* begin, int64_t elements,
                            int32_t bytes, int32_t lane) {
  const int64_t per_store = 16 / bytes;
  // Elements of the first 16 bytes that stand before the line.
  const int32_t before =
      static_cast<int32_t>(reinterpret_cast<uintptr_t>(begin) % 16) / bytes;
  for (int64_t first = lane * per_store - before; first < elements;
       first += kLanes * per_store) {
    if (first >= 0 && first + per_store <= elements) {
      StoreBytes16(static_cast<uint8_t*>(begin) + first * bytes,
                   LineWord(line, first, bytes));
      continue;
    }
    for (int64_t key = first; key < first + per_store; ++key) {
      if (key < 0 || key >= elements) continue;
      StoreElement(begin, bytes, key, line[key]);
    }
  }
}

PACKHOUSE_HD inline void* LineOf(const DenseTensor& tensor, int64_t line) {
  return static_cast<uint8_t*>(tensor.data) +
         line * tensor.pitch * tensor.bytes;
}

PACKHOUSE_HD inline void Body(const DenseJob& job, const SegmentTable& table,
                              int64_t block, int32_t thread) {
  const int64_t line = block * kLines + thread / kLanes;
  if (line >= job.lines()) return;
  const int32_t t = static_cast<int32_t>(line);
  const Interval keys =
      DenseKeys(table, job.mask, job.empty_rows, FindSegment(table, t), t);
  WriteLine(IntervalLine{keys, job.tensor.allowed, job.tensor.denied},
            LineOf(job.tensor, line), table.row_tokens, job.tensor.bytes,
            thread % kLanes);
}

// ---------------------------------------------------------- equality masks --

// A mask of S x S elements for each row of ids: tokens of equal ids attend each
// other, wherever they stand.
struct EqualityJob {
  SourceView ids;  // [rows, row_tokens]
  int32_t rows;
  int32_t row_tokens;
  Mask mask;
  DenseTensor tensor;

  PACKHOUSE_HD int64_t lines() const { return int64_t{rows} * row_tokens; }
  int64_t blocks() const { return (lines() + kLines - 1) / kLines; }
};

// `allowed` for those keys of an interval that have an id.
struct EqualityLine {
  SourceView ids;
  int64_t row_begin;  // of the row in ids
  int64_t id;
  Interval keys;
  uint32_t allowed;
  uint32_t denied;

  PACKHOUSE_HD uint32_t operator[](int64_t key) const {
    return key >= keys.begin && key < keys.end && ids[row_begin + key] == id
               ? allowed
               : denied;
  }
  PACKHOUSE_HD bool uniform(int64_t begin, int64_t end) const {
    return begin >= keys.end || end <= keys.begin;
  }
};

PACKHOUSE_HD inline EqualityLine EqualityLineOf(const EqualityJob& job,
                                                int64_t line) {
  const int32_t q = static_cast<int32_t>(line) % job.row_tokens;
  // All of the row is one segment, but for the ids.
  Segment row = {};
  row.attend_end = job.row_tokens;
  return {job.ids,
          line - q,
          job.ids[line],
          AllowedKeys(row, job.mask, q),
          job.tensor.allowed,
          job.tensor.denied};
}

// It needs no table.
PACKHOUSE_HD inline void Body(const EqualityJob& job, int64_t block,
                              int32_t thread) {
  const int64_t line = block * kLines + thread / kLanes;
  if (line >= job.lines()) return;
  WriteLine(EqualityLineOf(job, line), LineOf(job.tensor, line), job.row_tokens,
            job.tensor.bytes, thread % kLanes);
}

}  // namespace packhouse

#endif  // PACKHOUSE_KERNELS_JOBS_H_
