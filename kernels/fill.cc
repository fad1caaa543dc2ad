// The CPU driver: the jobs of a plan, with loops over runs where a run of
// elements follows one rule, instead of the kernels' bodies. Both take their
// values from the same functions.

#include "packhouse/fill.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/fill_plan.h"
#include "kernels/host_formats.h"
#include "kernels/jobs.h"
#include "kernels/values.h"

namespace packhouse {
namespace {

// --------------------------------------------------------------- threads --

constexpr int kMaxThreads = 1024;

// What a thread writes at least: about as much as it could in the time that it
// takes to start.
constexpr int64_t kBytesPerThread = 1 << 20;

// One of `parts` equal shares of whatever there is to write.
struct Share {
  int64_t part;
  int64_t parts;

  // The range of it in 0 to `count` - 1.
  int64_t begin(int64_t count) const { return Cut(count, part); }
  int64_t end(int64_t count) const { return Cut(count, part + 1); }

 private:
  // count x i / parts, which would wrap.
  int64_t Cut(int64_t count, int64_t i) const {
    return count / parts * i + count % parts * i / parts;
  }
};

// Writes all shares of `bytes` bytes, on a thread each. Where the system has no
// more threads, this one writes the rest.
void Spread(int threads, int64_t bytes,
            const std::function<void(const Share& share)>& write) {
  const int64_t parts =
      std::min<int64_t>(threads, std::max<int64_t>(bytes / kBytesPerThread, 1));
  std::vector<std::thread> others;
  others.reserve(static_cast<size_t>(parts));
  int64_t part = 1;
  try {
    for (; part < parts; ++part) others.emplace_back(write, Share{part, parts});
  } catch (const std::system_error&) {
  }
  write(Share{0, parts});
  for (; part < parts; ++part) write(Share{part, parts});
  for (std::thread& thread : others) thread.join();
}

// ------------------------------------------------------------------- tokens --

// The tokens of one segment that are to be written: real ones up to `real_end`,
// padding from there on.
struct Run {
  const Segment* segment;
  int32_t index;  // of the segment
  int32_t begin;
  int32_t real_end;
  int32_t end;
};

template <typename PerRun>
void ForRuns(const SegmentTable& table, int64_t begin, int64_t end,
             const PerRun& per_run) {
  if (begin >= end) return;
  int32_t t = static_cast<int32_t>(begin);
  for (int32_t s = FindSegment(table, t); t < end; ++s) {
    const Segment& segment = table.segments[s];
    Run run = {&segment, s, t, 0, 0};
    run.end = static_cast<int32_t>(std::min<int64_t>(table.slot_end(s), end));
    run.real_end = std::max(run.begin, std::min(run.end, segment.real_end));
    per_run(run);
    t = run.end;
  }
}

// Calls `read` with the address of source element `first`, of its type.
template <typename Read>
void WithSource(const SourceView& source, int64_t first, const Read& read) {
  switch (source.bytes) {
    case 2:
      return read(static_cast<const uint16_t*>(source.data) + first);
    case 4:
      return read(static_cast<const int32_t*>(source.data) + first);
    default:
      return read(static_cast<const int64_t*>(source.data) + first);
  }
}

template <typename T>
void WriteIds(const ValueContext& context, const Run& run, T* out) {
  const Segment& segment = *run.segment;
  const int32_t count = run.real_end - run.begin;
  WithSource(context.tokens, segment.source + (run.begin - segment.begin),
             [&](const auto* from) {
               T* const to = out + run.begin;
               for (int32_t i = 0; i < count; ++i) {
                 to[i] = static_cast<T>(from[i]);
               }
             });
  std::fill(out + run.real_end, out + run.end, static_cast<T>(context.pad_id));
}

template <typename T>
void WriteLabels(const ValueContext& context, const Run& run, T* out) {
  const T ignore = static_cast<T>(context.ignore_id);
  const Interval places = LabelPlaces(*run.segment, context.label_shift);
  const int32_t begin = std::min(run.end, std::max(run.begin, places.begin));
  const int32_t end = std::max(begin, std::min(run.end, places.end));
  std::fill(out + run.begin, out + begin, ignore);
  if (begin < end) {
    WithSource(
        context.labels, LabelSource(*run.segment, context.label_shift, begin),
        [&](const auto* from) {
          T* const to = out + begin;
          for (int32_t i = 0; i < end - begin; ++i) {
            const int64_t label = from[i];
            to[i] = label == context.source_ignore_id ? ignore
                                                      : static_cast<T>(label);
          }
        });
  }
  std::fill(out + end, out + run.end, ignore);
}

template <typename T>
void WritePositions(const ValueContext& context, const Run& run, T* out) {
  const int32_t end =
      context.table.positions_run_on
          ? run.end
          : std::max(run.begin, std::min(run.end, run.segment->attend_end));
  const T first =
      static_cast<T>(PositionValue(context, *run.segment, run.begin));
  const int32_t count = end - run.begin;
  for (int32_t i = 0; i < count; ++i) {
    out[run.begin + i] = static_cast<T>(first + static_cast<T>(i));
  }
  std::fill(out + end, out + run.end, T{0});
}

// Formats with one value for all that is real of a segment, and one for its
// padding.
template <typename T>
void WriteConstants(const ValueContext& context, Format format, const Run& run,
                    T* out) {
  if (run.begin < run.real_end) {
    std::fill(
        out + run.begin, out + run.real_end,
        static_cast<T>(TokenValue(context, format, run.index, run.begin)));
  }
  if (run.real_end < run.end) {
    std::fill(
        out + run.real_end, out + run.end,
        static_cast<T>(TokenValue(context, format, run.index, run.real_end)));
  }
}

void WriteLossWeights(const ValueContext& context, const Run& run,
                      uint32_t* out) {
  const Segment& segment = *run.segment;
  const int32_t targets = Targets(context, segment);
  const uint32_t weight =
      targets == 0 ? 0
                   : static_cast<uint32_t>(
                         FloatBits(1.0f / static_cast<float>(targets)));
  for (int32_t t = run.begin; t < run.end; ++t) {
    out[t] = IsTarget(context, segment, t) ? weight : 0;
  }
}

// All other formats: their function, with the format known to the compiler.
template <Format kFormat, typename T>
void WriteValues(const ValueContext& context, const Run& run, T* out) {
  for (int32_t t = run.begin; t < run.end; ++t) {
    out[t] = static_cast<T>(TokenValue(context, kFormat, run.index, t));
  }
}

template <typename T>
void WriteRun(const ValueContext& context, Format format, const Run& run,
              T* out) {
  switch (format) {
    case Format::kInputIds:
      return WriteIds(context, run, out);
    case Format::kLabels:
      return WriteLabels(context, run, out);
    case Format::kPositionIds:
      return WritePositions(context, run, out);
    case Format::kSegmentIds:
    case Format::kSequenceIds:
    case Format::kSeqIdx:
    case Format::kPaddingMask:
      return WriteConstants(context, format, run, out);
    case Format::kLossMask:
      return WriteValues<Format::kLossMask>(context, run, out);
    case Format::kKvStart:
      return WriteValues<Format::kKvStart>(context, run, out);
    case Format::kKvEnd:
      return WriteValues<Format::kKvEnd>(context, run, out);
    default:
      return WriteValues<Format::kCpInverse>(context, run, out);
  }
}

// One array of a format with an element for each token.
void WriteTokenArray(const ValueContext& context, const ArrayOutput& array,
                     int64_t begin, int64_t end) {
  ForRuns(context.table, begin, end, [&](const Run& run) {
    if (array.format == Format::kLossWeights) {
      return WriteLossWeights(context, run, static_cast<uint32_t*>(array.data));
    }
    switch (array.bytes) {
      case 1:
        return WriteRun(context, array.format, run,
                        static_cast<uint8_t*>(array.data));
      case 4:
        return WriteRun(context, array.format, run,
                        static_cast<uint32_t*>(array.data));
      default:
        return WriteRun(context, array.format, run,
                        static_cast<uint64_t*>(array.data));
    }
  });
}

// --------------------------------------------------------- other elements --

void WriteFlashMask(const ValueContext& context, const ArrayOutput& array,
                    int64_t begin, int64_t end) {
  int32_t* out = static_cast<int32_t*>(array.data) + begin * array.width;
  ForRuns(context.table, begin, end, [&](const Run& run) {
    for (int32_t t = run.begin; t < run.end; ++t) {
      for (int32_t column = 0; column < array.width; ++column) {
        *out++ = static_cast<int32_t>(
            FlashMaskValue(context, *run.segment, t, column));
      }
    }
  });
}

// Lines `begin` to `end` - 1 of a format with a line for each row. All that is
// behind the last segment of a row, and one element more, has one value.
void WriteRowLines(const ValueContext& context, const ArrayOutput& array,
                   int64_t begin, int64_t end) {
  for (int64_t line = begin; line < end; ++line) {
    const int32_t row = static_cast<int32_t>(line);
    const int32_t own =
        FirstOfRow(context.table, row + 1) - FirstOfRow(context.table, row) + 2;
    int64_t value = 0;
    for (int32_t column = 0; column < array.width; ++column) {
      if (column < own) value = RowValue(context, array.format, row, column);
      StoreElement(array.data, array.bytes, line * array.width + column, value);
    }
  }
}

void WriteUnpadIndices(const ValueContext& context, const ArrayOutput& array,
                       int64_t begin, int64_t end) {
  if (begin == end) return;
  const Segment* segment = context.table.segments +
                           FindLast(context.table, &Segment::attended_before,
                                    static_cast<int32_t>(begin));
  for (int64_t i = begin; i < end; ++i) {
    if (i == segment[1].attended_before) ++segment;
    StoreElement(array.data, array.bytes, i,
                 segment->begin + (i - segment->attended_before));
  }
}

void WriteShares(const ValueContext& context, const ArrayOutput& array,
                 int64_t begin, int64_t end) {
  const SegmentTable& table = context.table;
  const int32_t ranks = context.cp_ranks;
  const int64_t share = table.tokens() / ranks;
  for (int64_t i = begin; i < end;) {
    const int32_t rank = static_cast<int32_t>(i / share);
    const int64_t first = rank * share;
    const int64_t stop = std::min(end, first + share);
    int32_t s = SegmentOfShare(table, ranks, static_cast<int32_t>(i - first));
    for (; i < stop; ++i) {
      const int32_t place = static_cast<int32_t>(i - first);
      if (place == table.slot_end(s) / ranks) ++s;
      StoreElement(array.data, array.bytes, i,
                   ShareToken(table, ranks, rank, s, place));
    }
  }
}

// Lines `begin` to `end` - 1, each of a block of keys. The blocks of keys of
// each block of queries are looked up once for each row.
void WriteOrders(const ValueContext& context, const ArrayOutput& array,
                 int64_t begin, int64_t end) {
  const bool full = array.format == Format::kDqWriteOrderFull;
  const SegmentTable& table = context.table;
  const int32_t key_blocks = CeilDiv(table.row_tokens, context.blocks.kv);
  std::vector<BlockRuns> keys(static_cast<size_t>(array.width));
  int32_t row = -1;
  for (int64_t line = begin; line < end; ++line) {
    const int32_t key_block = static_cast<int32_t>(line % key_blocks);
    if (line / key_blocks != row) {
      row = static_cast<int32_t>(line / key_blocks);
      for (int32_t block = 0; block < array.width; ++block) {
        keys[block] = RunsOfBlockRow(table, context.mask, context.blocks,
                                     BlockSide::kQueries, row, block);
      }
    }
    const BlockRuns queries = RunsOfBlockRow(
        table, context.mask, context.blocks, BlockSide::kKeys, row, key_block);
    int32_t* const out = static_cast<int32_t*>(array.data) + line * array.width;
    for (int32_t slot = 0; slot < array.width; ++slot) {
      const int32_t query_block =
          full ? FullSlot(queries, slot) : PartialSlot(queries, slot);
      out[slot] = TurnOf(context, keys[query_block], key_block);
    }
  }
}

void WriteElements(const ValueContext& context, const ArrayOutput& array,
                   int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    StoreElement(array.data, array.bytes, i,
                 ElementValue(context, array.format, array.width,
                              static_cast<uint32_t>(i)));
  }
}

void WriteArrays(const ArraysJob& job, const Share& share) {
  for (int32_t a = 0; a < job.all_arrays; ++a) {
    const ArrayOutput& array = job.arrays[a];
    const auto write = [&](const auto& part, int64_t count) {
      part(job.context, array, share.begin(count), share.end(count));
    };
    if (a < job.token_arrays) {
      write(WriteTokenArray, job.tokens);
    } else if (array.format == Format::kFlashMask) {
      write(WriteFlashMask, job.tokens);
    } else if (array.format == Format::kUnpadIndices) {
      write(WriteUnpadIndices, array.count);
    } else if (array.format == Format::kCpIndices) {
      write(WriteShares, array.count);
    } else if (array.format == Format::kDqWriteOrder ||
               array.format == Format::kDqWriteOrderFull) {
      write(WriteOrders, array.count / array.width);
    } else if (HasLineForEachRow(array.format)) {
      write(WriteRowLines, job.context.table.rows);
    } else {
      write(WriteElements, array.count);
    }
  }
}

// The targets of each sequence, where labels have to be looked at.
std::vector<int32_t> CountAllTargets(const ValueContext& context, int threads) {
  const SegmentTable& table = context.table;
  std::vector<int32_t> counts(table.segments[table.count].sequences_before);
  const int64_t bytes = int64_t{table.tokens()} * context.labels.bytes;
  Spread(threads, bytes, [&](const Share& share) {
    for (int64_t s = share.begin(table.count); s < share.end(table.count);
         ++s) {
      const Segment& segment = table.segments[s];
      if (!segment.is_sequence()) continue;
      counts[segment.sequences_before] = CountTargets(context, segment, 0, 1);
    }
  });
  return counts;
}

// ------------------------------------------------------------- block tables --

// Writes begin to end - 1 at `out`; returns behind them.
int32_t* WriteRange(int32_t begin, int32_t end, int32_t* out) {
  for (int32_t i = begin; i < end; ++i) *out++ = i;
  return out;
}

void WritePartialRow(const BlockRuns& runs, int32_t slots, int32_t* out) {
  out = WriteRange(runs.some.begin, runs.full.begin, out);
  out = WriteRange(runs.full.end, runs.some.end, out);
  out = WriteRange(0, runs.some.begin, out);
  out = WriteRange(runs.full.begin, runs.full.end, out);
  WriteRange(runs.some.end, slots, out);
}

void WriteFullRow(const BlockRuns& runs, int32_t slots, int32_t* out) {
  out = WriteRange(runs.full.begin, runs.full.end, out);
  out = WriteRange(0, runs.full.begin, out);
  WriteRange(runs.full.end, slots, out);
}

void WriteBlockRows(const BlocksJob& job, int32_t side, int64_t begin,
                    int64_t end) {
  const BlockTables& tables = job.sides[side];
  const int32_t block_rows = job.block_rows(side);
  const int32_t slots = job.slots(side);
  for (int64_t line = begin; line < end; ++line) {
    const BlockRuns runs = RunsOfBlockRow(
        job.table, job.mask, job.shape, static_cast<BlockSide>(side),
        static_cast<int32_t>(line / block_rows),
        static_cast<int32_t>(line % block_rows));
    if (tables.num_blocks != nullptr) {
      tables.num_blocks[line] = runs.partial_count();
    }
    if (tables.full_num_blocks != nullptr) {
      tables.full_num_blocks[line] = runs.full_count();
    }
    if (tables.indices != nullptr) {
      WritePartialRow(runs, slots, RowOf(tables.indices, line, slots));
    }
    if (tables.full_indices != nullptr) {
      WriteFullRow(runs, slots, RowOf(tables.full_indices, line, slots));
    }
  }
}

void WriteBlocks(const BlocksJob& job, const Share& share) {
  for (int32_t side = 0; side < 2; ++side) {
    if (!job.sides[side].wanted()) continue;
    const int64_t lines = int64_t{job.table.rows} * job.block_rows(side);
    WriteBlockRows(job, side, share.begin(lines), share.end(lines));
  }
}

// -------------------------------------------------------------- dense masks --

// A line is one run of `denied`, one of `allowed`, one of `denied` again. As
// one fill of many lines costs least a byte, and most of a document mask is
// denied, all of a chunk is denied first, and the allowed runs are written over
// it while it is in the cache of the core.
constexpr int64_t kChunkBytes = 128 << 10;

template <typename T>
void DenyLines(const DenseTensor& tensor, int64_t elements, T* lines,
               int64_t count) {
  const T denied = static_cast<T>(tensor.denied);
  if (tensor.pitch == elements) {
    std::fill(lines, lines + count * elements, denied);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    T* const line = lines + i * tensor.pitch;
    std::fill(line, line + elements, denied);
  }
}

template <typename T>
void WriteLines(const DenseJob& job, int64_t begin, int64_t end) {
  const DenseTensor& tensor = job.tensor;
  const int64_t chunk =
      std::max<int64_t>(1, kChunkBytes / (tensor.pitch * tensor.bytes));
  T* const data = static_cast<T*>(tensor.data);
  for (; begin < end; begin += chunk) {
    const int64_t stop = std::min(end, begin + chunk);
    DenyLines(tensor, job.table.row_tokens, data + begin * tensor.pitch,
              stop - begin);
    ForRuns(job.table, begin, stop, [&](const Run& run) {
      for (int32_t t = run.begin; t < run.end; ++t) {
        const Interval keys =
            DenseKeys(job.table, job.mask, job.empty_rows, run.index, t);
        if (keys.empty()) continue;
        T* const line = data + t * tensor.pitch;
        std::fill(line + keys.begin, line + keys.end,
                  static_cast<T>(tensor.allowed));
      }
    });
  }
}

template <typename T, typename Id>
void WriteEqualLines(const EqualityJob& job, int64_t begin, int64_t end) {
  const T allowed = static_cast<T>(job.tensor.allowed);
  const T denied = static_cast<T>(job.tensor.denied);
  for (int64_t i = begin; i < end; ++i) {
    const EqualityLine line = EqualityLineOf(job, i);
    const Id* const ids = static_cast<const Id*>(job.ids.data) + line.row_begin;
    const Id id = static_cast<Id>(line.id);
    T* const out = static_cast<T*>(LineOf(job.tensor, i));
    std::fill(out, out + line.keys.begin, denied);
    for (int32_t key = line.keys.begin; key < line.keys.end; ++key) {
      out[key] = ids[key] == id ? allowed : denied;
    }
    std::fill(out + line.keys.end, out + job.row_tokens, denied);
  }
}

template <typename T>
void WriteEqualLines(const EqualityJob& job, int64_t begin, int64_t end) {
  if (job.ids.bytes == 4) {
    WriteEqualLines<T, int32_t>(job, begin, end);
  } else {
    WriteEqualLines<T, int64_t>(job, begin, end);
  }
}

absl::Status CheckThreads(int threads) {
  if (threads >= 1 && threads <= kMaxThreads) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "threads are ", threads, ", they must be from 1 to ", kMaxThreads));
}

// Calls `write` with a value of an element's type, which is 1, 2 or 4 bytes.
template <typename Write>
void WithElement(int32_t bytes, const Write& write) {
  if (bytes == 1) {
    write(uint8_t{});
  } else if (bytes == 2) {
    write(uint16_t{});
  } else {
    write(uint32_t{});
  }
}

void WriteDense(const DenseJob& job, const Share& share) {
  WithElement(job.tensor.bytes, [&](auto element) {
    WriteLines<decltype(element)>(job, share.begin(job.lines()),
                                  share.end(job.lines()));
  });
}

// ------------------------------------------------------------------ checks --

// Values of 64 bits that outputs of 32 have no room for. One pass: the tokens
// of a batch are read again at once, from the cache.
absl::Status CheckFits(absl::string_view name, Format format,
                       const Tensor& source) {
  const int64_t* const values = static_cast<const int64_t*>(source.data);
  const int64_t count = source.shape.front();
  bool fits = true;
  for (int64_t i = 0; i < count; ++i) {
    fits &= values[i] == static_cast<int32_t>(values[i]);
  }
  if (fits) return absl::OkStatus();
  int64_t i = 0;
  while (values[i] == static_cast<int32_t>(values[i])) ++i;
  return absl::InvalidArgumentError(absl::StrCat(
      FormatName(format), ": source ", name, " has ", values[i], " at place ",
      i, ", an int32 output has room from ", INT32_MIN, " to ", INT32_MAX));
}

absl::Status CheckFits(const Sources& sources,
                       absl::Span<const Output> outputs) {
  for (const Output& output : outputs) {
    const bool labels = output.format == Format::kLabels;
    if (!labels && output.format != Format::kInputIds) continue;
    const bool own_labels = labels && sources.labels.has_value();
    const Tensor& source = own_labels ? *sources.labels : *sources.tokens;
    if (output.tensor.dtype != DType::kInt32 || source.dtype != DType::kInt64) {
      continue;
    }
    absl::Status status =
        CheckFits(own_labels ? "labels" : "tokens", output.format, source);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Fill(const BatchLayout& layout, const FormatOptions& options,
                  const Sources& sources, absl::Span<const Output> outputs,
                  int threads) {
  if (absl::Status status = CheckThreads(threads); !status.ok()) return status;
  absl::StatusOr<FillPlan> plan =
      PlanFill(Side::kHost, layout, options, sources, outputs);
  if (!plan.ok()) return plan.status();
  if (absl::Status status = CheckFits(sources, outputs); !status.ok()) {
    return status;
  }
  std::vector<int32_t> counts;
  for (ArraysJob& job : plan->arrays) {
    if (!plan->counts_targets) continue;
    counts = CountAllTargets(job.context, threads);
    job.context.target_counts = counts.data();
    job.context.target_lanes = 1;
  }
  Spread(threads, plan->bytes, [&](const Share& share) {
    for (const ArraysJob& job : plan->arrays) WriteArrays(job, share);
    for (const BlocksJob& job : plan->blocks) WriteBlocks(job, share);
    for (const DenseJob& job : plan->dense) WriteDense(job, share);
  });
  for (const HostOutput& output : plan->host_only) {
    FillOnHost(layout, options, output.format, output.data, output.bytes);
  }
  return absl::OkStatus();
}

absl::Status FillEqualityMask(const Tensor& ids, Mask mask,
                              const DenseOptions& options, const Tensor& output,
                              int threads) {
  if (absl::Status status = CheckThreads(threads); !status.ok()) return status;
  absl::StatusOr<EqualityJob> job =
      PlanEquality(Side::kHost, ids, mask, options, output);
  if (!job.ok()) return job.status();
  const int64_t bytes = job->lines() * job->row_tokens * job->tensor.bytes;
  Spread(threads, bytes, [&](const Share& share) {
    WithElement(job->tensor.bytes, [&](auto element) {
      WriteEqualLines<decltype(element)>(*job, share.begin(job->lines()),
                                         share.end(job->lines()));
    });
  });
  return absl::OkStatus();
}

}  // namespace packhouse
