// How fast the CPU driver fills formats, beside memset of as many bytes:
// bytes a second on one thread, into memory that was written before.
//
// The batch is rows of documents of mixed lengths, mean about 1,100 tokens, the
// last row padded: what a packer makes of a text corpus.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "packhouse/fill.h"

namespace packhouse {
namespace {

BatchLayout Documents(int64_t rows, int64_t row_tokens) {
  std::mt19937 random(1);
  std::vector<uint32_t> lengths;
  std::vector<uint64_t> offsets = {0};
  for (int64_t row = 0; row < rows; ++row) {
    int64_t left = row_tokens;
    while (left > 0) {
      // 16 to 8,191, even in their logarithm.
      const int64_t drawn = int64_t{16} << (random() % 9);
      const int64_t length = drawn + static_cast<int64_t>(random() % drawn);
      if (length > left) break;
      lengths.push_back(static_cast<uint32_t>(length));
      left -= length;
    }
    offsets.push_back(lengths.size());
  }
  LayoutSpec spec;
  spec.row_tokens = row_tokens;
  absl::StatusOr<BatchLayout> layout =
      BatchLayout::Make(spec, lengths, offsets);
  if (!layout.ok()) std::abort();
  return *std::move(layout);
}

// Outputs of these formats, in memory of their own.
struct Outputs {
  Outputs(const BatchLayout& layout, const FormatOptions& options,
          const std::vector<Format>& formats, DType dense = DType::kBool)
      : memory(formats.size()) {
    for (size_t i = 0; i < formats.size(); ++i) {
      const FormatShape shape = *ShapeOf(formats[i], layout, options);
      Tensor tensor;
      tensor.dtype =
          formats[i] == Format::kDenseMask ? dense : shape.dtypes.front();
      tensor.shape = shape.shape;
      const size_t size =
          static_cast<size_t>(Elements(shape.shape) * DTypeBytes(tensor.dtype));
      memory[i].resize(size);
      bytes += static_cast<int64_t>(size);
      tensor.data = memory[i].data();
      outputs.push_back({formats[i], tensor});
    }
  }

  std::vector<std::vector<uint8_t>> memory;
  std::vector<Output> outputs;
  int64_t bytes = 0;
};

void Run(benchmark::State& state, const BatchLayout& layout,
         const FormatOptions& options, const Sources& sources,
         const Outputs& outputs) {
  for (auto _ : state) {
    const absl::Status status = Fill(layout, options, sources, outputs.outputs);
    if (!status.ok()) std::abort();
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * outputs.bytes);
  state.counters["bytes"] = static_cast<double>(outputs.bytes);
}

// Input ids, labels and positions of 64 bits and segment ids of 32.
void BM_Tokens(benchmark::State& state) {
  const BatchLayout layout = Documents(1, state.range(0));
  std::vector<int32_t> ids(static_cast<size_t>(layout.sequence_tokens()), 7);
  Sources sources;
  sources.tokens = HostTensor(ids.data(), {layout.sequence_tokens()});
  const Outputs outputs(layout, {},
                        {Format::kInputIds, Format::kLabels,
                         Format::kPositionIds, Format::kSegmentIds});
  Run(state, layout, {}, sources, outputs);
}
BENCHMARK(BM_Tokens)->Arg(8192)->Arg(131072);

std::vector<Format> BlockFormats() {
  std::vector<Format> formats;
  for (int f = static_cast<int>(Format::kKvNumBlocks);
       f <= static_cast<int>(Format::kFullQIndices); ++f) {
    formats.push_back(static_cast<Format>(f));
  }
  return formats;
}

void BM_BlockMask(benchmark::State& state) {
  const BatchLayout layout = Documents(1, state.range(0));
  const Outputs outputs(layout, {}, BlockFormats());
  Run(state, layout, {}, {}, outputs);
}
BENCHMARK(BM_BlockMask)->Arg(8192)->Arg(16384)->Arg(131072);

void BM_Dense(benchmark::State& state, DType dtype, MaskKind kind) {
  const BatchLayout layout = Documents(state.range(0), state.range(1));
  FormatOptions options;
  options.mask.kind = kind;
  const Outputs outputs(layout, options, {Format::kDenseMask}, dtype);
  Run(state, layout, options, {}, outputs);
}
BENCHMARK_CAPTURE(BM_Dense, causal_bool, DType::kBool, MaskKind::kCausal)
    ->Args({1, 2048})
    ->Args({8, 2048})
    ->Args({1, 8192});
BENCHMARK_CAPTURE(BM_Dense, document_bool, DType::kBool, MaskKind::kDocument)
    ->Args({1, 8192});
BENCHMARK_CAPTURE(BM_Dense, causal_bfloat16, DType::kBFloat16,
                  MaskKind::kCausal)
    ->Args({1, 8192});
BENCHMARK_CAPTURE(BM_Dense, causal_float32, DType::kFloat32, MaskKind::kCausal)
    ->Args({1, 8192});

// One sequence as long as the row: half of the mask is true.
void BM_DenseOneSequence(benchmark::State& state) {
  LayoutSpec spec;
  spec.row_tokens = state.range(0);
  const std::vector<uint32_t> lengths = {static_cast<uint32_t>(state.range(0))};
  const BatchLayout layout = *BatchLayout::Make(spec, lengths, {0, 1});
  const Outputs outputs(layout, {}, {Format::kDenseMask});
  Run(state, layout, {}, {}, outputs);
}
BENCHMARK(BM_DenseOneSequence)->Arg(8192);

void BM_Memset(benchmark::State& state) {
  std::vector<uint8_t> memory(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    std::memset(memory.data(), 1, memory.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Memset)
    ->Arg(4 << 20)
    ->Arg(32 << 20)
    ->Arg(64 << 20)
    ->Arg(128 << 20)
    ->Arg(256 << 20);

}  // namespace
}  // namespace packhouse

BENCHMARK_MAIN();
