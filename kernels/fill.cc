// The CPU driver: the jobs of a plan, with loops over runs where a run of
// elements follows one rule, instead of the kernels' bodies. Both take their
// values from the same functions.

#include "packhouse/fill.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/fill_plan.h"
#include "kernels/host_formats.h"
#include "kernels/jobs.h"
#include "kernels/values.h"

namespace packhouse {
namespace {

constexpr int kMaxThreads = 1024;

// Runs `part` on ranges that cover 0 to `count` - 1, a thread each.
void Spread(int threads, int64_t count,
            const std::function<void(int64_t begin, int64_t end)>& part) {
  const int64_t parts = std::max<int64_t>(1, std::min<int64_t>(threads, count));
  std::vector<std::thread> others;
  for (int64_t i = 1; i < parts; ++i) {
    others.emplace_back(part, count * i / parts, count * (i + 1) / parts);
  }
  part(0, count / parts);
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

template <typename T, typename From>
void CopyRun(const From* from, T* to, int32_t count) {
  for (int32_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
}

// Copies source elements `first` on.
template <typename T>
void CopySource(const SourceView& source, int64_t first, T* to, int32_t count) {
  switch (source.bytes) {
    case 2:
      return CopyRun(static_cast<const uint16_t*>(source.data) + first, to,
                     count);
    case 4:
      return CopyRun(static_cast<const int32_t*>(source.data) + first, to,
                     count);
    default:
      return CopyRun(static_cast<const int64_t*>(source.data) + first, to,
                     count);
  }
}

template <typename T>
void WriteIds(const ValueContext& context, const Run& run, T* out) {
  const Segment& segment = *run.segment;
  CopySource(context.tokens, segment.source + (run.begin - segment.begin),
             out + run.begin, run.real_end - run.begin);
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
    CopySource(context.labels,
               LabelSource(*run.segment, context.label_shift, begin),
               out + begin, end - begin);
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

void RunArrays(const ArraysJob& job, const ValueContext& context, int threads) {
  if (job.token_arrays > 0) {
    Spread(threads, job.tokens, [&](int64_t begin, int64_t end) {
      for (int32_t a = 0; a < job.token_arrays; ++a) {
        WriteTokenArray(context, job.arrays[a], begin, end);
      }
    });
  }
  for (int32_t a = job.token_arrays; a < job.all_arrays; ++a) {
    const ArrayOutput& array = job.arrays[a];
    Spread(threads, array.count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        StoreElement(array.data, array.bytes, i,
                     ElementValue(context, array.format, array.width,
                                  static_cast<uint32_t>(i)));
      }
    });
  }
}

// The targets of each sequence, where labels have to be looked at.
std::vector<int32_t> CountAllTargets(const ValueContext& context, int threads) {
  const SegmentTable& table = context.table;
  std::vector<int32_t> counts(table.segments[table.count].sequences_before);
  Spread(threads, table.count, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
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

void RunBlocks(const BlocksJob& job, int threads) {
  for (int32_t side = 0; side < 2; ++side) {
    if (!job.sides[side].wanted()) continue;
    const int64_t lines = int64_t{job.table.rows} * job.block_rows(side);
    Spread(threads, lines, [&](int64_t begin, int64_t end) {
      WriteBlockRows(job, side, begin, end);
    });
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

void RunDense(const DenseJob& job, int threads) {
  WithElement(job.tensor.bytes, [&](auto element) {
    Spread(threads, job.lines(), [&](int64_t begin, int64_t end) {
      WriteLines<decltype(element)>(job, begin, end);
    });
  });
}

}  // namespace

absl::Status Fill(const BatchLayout& layout, const FormatOptions& options,
                  const Sources& sources, absl::Span<const Output> outputs,
                  int threads) {
  if (absl::Status status = CheckThreads(threads); !status.ok()) return status;
  absl::StatusOr<FillPlan> plan =
      PlanFill(Side::kHost, layout, options, sources, outputs);
  if (!plan.ok()) return plan.status();
  for (const ArraysJob& job : plan->arrays) {
    ValueContext context = job.context;
    std::vector<int32_t> counts;
    if (plan->counts_targets) {
      counts = CountAllTargets(context, threads);
      context.target_counts = counts.data();
      context.target_lanes = 1;
    }
    RunArrays(job, context, threads);
  }
  for (const BlocksJob& job : plan->blocks) RunBlocks(job, threads);
  for (const DenseJob& job : plan->dense) RunDense(job, threads);
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
  WithElement(job->tensor.bytes, [&](auto element) {
    Spread(threads, job->lines(), [&](int64_t begin, int64_t end) {
      WriteEqualLines<decltype(element)>(*job, begin, end);
    });
  });
  return absl::OkStatus();
}

}  // namespace packhouse
