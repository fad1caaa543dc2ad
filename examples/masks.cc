// What each consumer of a packed batch takes. Every block between `// [name]`
// and `// [end]` stands in docs/formats.md too, under "For name"; a test holds
// them equal, and this program checks what they fill.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "packhouse/bert.h"
#include "packhouse/fill.h"

namespace {

using namespace packhouse;  // NOLINT: an example

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::exit(1);
}

template <typename T>
void Expect(const std::vector<T>& seen, const std::vector<T>& wanted) {
  if (seen == wanted) return;
  std::fprintf(stderr, "a format is not what it should be\n");
  std::exit(1);
}

// Two packs of 12 tokens: sequences of 5 and 3, and one of 12.
const std::vector<uint32_t> lengths = {5, 3, 12};
const std::vector<uint64_t> offsets = {0, 2, 3};

void FlashAttention() {
  // [flash-attn]
  LayoutSpec spec;
  spec.row_tokens = 12;
  spec.flat = true;  // the kernel takes all rows as one
  BatchLayout layout = *BatchLayout::Make(spec, lengths, offsets);
  std::vector<int32_t> cu_seqlens(layout.segments() + 1);
  Check(Fill(layout, {}, {},
             {{Format::kCuSeqlens,
               HostTensor(cu_seqlens.data(), {layout.segments() + 1})}}));
  int64_t max_seqlen = layout.max_segment();
  // [end]
  Expect(cu_seqlens, {0, 5, 8, 12, 24});
  Expect<int64_t>({max_seqlen}, {12});
}

void HuggingFace(const std::vector<int32_t>& tokens) {
  // [Hugging Face transformers]
  LayoutSpec spec;
  spec.row_tokens = 12;
  spec.pad_mode = PadMode::kTrim;  // one row [1, T], without padding
  BatchLayout layout = *BatchLayout::Make(spec, lengths, offsets);
  int64_t T = layout.tokens();
  std::vector<int64_t> input_ids(T), labels(T), position_ids(T);
  std::vector<int32_t> cu_seq_lens(layout.segments() + 1);
  Sources sources;
  sources.tokens = HostTensor(tokens.data(), {T});
  Check(Fill(layout, {}, sources,
             {{Format::kInputIds, HostTensor(input_ids.data(), {1, T})},
              {Format::kLabels, HostTensor(labels.data(), {1, T})},
              {Format::kPositionIds, HostTensor(position_ids.data(), {1, T})},
              {Format::kCuSeqlens,
               HostTensor(cu_seq_lens.data(), {layout.segments() + 1})}}));
  int64_t max_length = layout.max_segment();
  // [end]
  Expect(cu_seq_lens, {0, 5, 8, 20});
  Expect<int64_t>({labels[0], labels[5], labels[8]}, {-100, -100, -100});
  Expect<int64_t>({labels[1], input_ids[7], position_ids[7], max_length},
                  {tokens[1], tokens[7], 2, 12});
}

void FlexAttention() {
  // [FlexAttention]
  LayoutSpec spec;
  spec.row_tokens = 12;
  BatchLayout layout = *BatchLayout::Make(spec, lengths, offsets);
  FormatOptions options;
  options.mask = {MaskKind::kCausal};
  options.blocks = {4, 4};           // 128 x 128 where nothing is said
  int64_t R = layout.rows(), N = 3;  // ceil(12 / 4)
  std::vector<int32_t> kv_num(R * N), kv(R * N * N), full_kv_num(R * N),
      full_kv(R * N * N), q_num(R * N), q(R * N * N), full_q_num(R * N),
      full_q(R * N * N), document_id(R * 12), kv_start(R * 12);
  Check(Fill(
      layout, options, {},
      {{Format::kKvNumBlocks, HostTensor(kv_num.data(), {R, 1, N})},
       {Format::kKvIndices, HostTensor(kv.data(), {R, 1, N, N})},
       {Format::kFullKvNumBlocks, HostTensor(full_kv_num.data(), {R, 1, N})},
       {Format::kFullKvIndices, HostTensor(full_kv.data(), {R, 1, N, N})},
       {Format::kQNumBlocks, HostTensor(q_num.data(), {R, 1, N})},
       {Format::kQIndices, HostTensor(q.data(), {R, 1, N, N})},
       {Format::kFullQNumBlocks, HostTensor(full_q_num.data(), {R, 1, N})},
       {Format::kFullQIndices, HostTensor(full_q.data(), {R, 1, N, N})},
       {Format::kSegmentIds, HostTensor(document_id.data(), {R, 12})},
       {Format::kKvStart, HostTensor(kv_start.data(), {R, 12})}}));
  // [end]
  Expect(kv_num, {1, 2, 1, 1, 1, 1});
  Expect(full_kv_num, {0, 0, 0, 0, 1, 2});
}

void Sdpa() {
  // [scaled_dot_product_attention]
  LayoutSpec spec;
  spec.row_tokens = 12;
  BatchLayout layout = *BatchLayout::Make(spec, lengths, offsets);
  int64_t R = layout.rows(), S = 12, pitch = 16;
  std::vector<uint16_t> mask(R * S * pitch);
  Tensor tensor = HostTensor(mask.data(), {R, 1, S, S});
  tensor.dtype = DType::kBFloat16;  // added to the scores of a bfloat16 model
  tensor.pitch = pitch;             // a multiple of 16 elements
  FormatOptions options;
  options.dense.minus_infinity = false;  // the lowest number: finfo.min
  Check(Fill(layout, options, {}, {{Format::kDenseMask, tensor}}));
  // [end]
  Expect<uint16_t>({mask[0], mask[1]}, {0, 0xFF7F});
}

void TransformerEngine() {
  // [Transformer Engine]
  LayoutSpec spec;
  spec.row_tokens = 16;
  spec.pad_mode = PadMode::kSlots;
  spec.alignment = 4;  // 2 x the ranks of the context-parallel group
  BatchLayout layout = *BatchLayout::Make(spec, {{5, 7}}, {{0, 2}});
  FormatOptions options;
  options.cp_ranks = 2;
  int64_t n = layout.segments(), share = layout.tokens() / options.cp_ranks;
  std::vector<int32_t> cu_seqlens(n + 1), cu_seqlens_padded(n + 1),
      partition(layout.tokens());
  Check(Fill(layout, options, {},
             {{Format::kCuSeqlens, HostTensor(cu_seqlens.data(), {n + 1})},
              {Format::kCuSeqlensPadded,
               HostTensor(cu_seqlens_padded.data(), {n + 1})},
              {Format::kCpIndices, HostTensor(partition.data(), {2, share})}}));
  int64_t max_seqlen = layout.max_slot();
  // [end]
  Expect(cu_seqlens, {0, 5, 12});
  Expect(cu_seqlens_padded, {0, 8, 16});
  Expect(partition, {0, 1, 6, 7, 8, 9, 14, 15, 2, 3, 4, 5, 10, 11, 12, 13});
  Expect<int64_t>({max_seqlen}, {8});
}

void Megatron(const std::vector<int32_t>& tokens) {
  // [Megatron]
  LayoutSpec spec;
  spec.row_tokens = 12;
  spec.pad_mode = PadMode::kMergeLast;
  BatchLayout layout = *BatchLayout::Make(spec, lengths, offsets);
  FormatOptions options;
  options.label_shift = LabelShift::kShifted;  // labels[t] is what t predicts
  options.ignore_id = 0;  // the loss mask says what is learned
  int64_t R = layout.rows(), S = 12;
  std::vector<int64_t> input_ids(R * S), labels(R * S), position_ids(R * S);
  std::vector<float> loss_mask(R * S);
  Sources sources;
  sources.tokens = HostTensor(tokens.data(), {layout.sequence_tokens()});
  Check(Fill(layout, options, sources,
             {{Format::kInputIds, HostTensor(input_ids.data(), {R, S})},
              {Format::kLabels, HostTensor(labels.data(), {R, S})},
              {Format::kPositionIds, HostTensor(position_ids.data(), {R, S})},
              {Format::kLossMask, HostTensor(loss_mask.data(), {R, S})}}));
  // [end]
  Expect<int64_t>({labels[0], labels[4], position_ids[11]}, {tokens[1], 0, 6});
  Expect<float>({loss_mask[0], loss_mask[4], loss_mask[11]}, {1, 0, 0});
}

void Jax(const std::vector<int32_t>& tokens) {
  // [MaxText, T5 and JAX]
  LayoutSpec spec;
  spec.row_tokens = 12;
  spec.pad_mode = PadMode::kMasked;  // positions of padding are 0
  BatchLayout layout = *BatchLayout::Make(spec, lengths, offsets);
  int64_t R = layout.rows(), S = 12;
  std::vector<int32_t> inputs(R * S), segmentation(R * S), position(R * S);
  Sources sources;
  sources.tokens = HostTensor(tokens.data(), {layout.sequence_tokens()});
  Check(Fill(layout, {}, sources,
             {{Format::kInputIds, HostTensor(inputs.data(), {R, S})},
              {Format::kSequenceIds, HostTensor(segmentation.data(), {R, S})},
              {Format::kPositionIds, HostTensor(position.data(), {R, S})}}));
  // [end]
  Expect<int32_t>({segmentation[0], segmentation[5], segmentation[11]},
                  {1, 2, 0});
  Expect<int32_t>({position[7], position[11]}, {2, 0});
}

void LinearAttention() {
  // [linear attention and state-space models]
  LayoutSpec spec;
  spec.row_tokens = 12;
  spec.flat = true;
  BatchLayout layout = *BatchLayout::Make(spec, lengths, offsets);
  FormatOptions options;
  options.chunk_tokens = 4;
  FormatShape shape = *ShapeOf(Format::kChunkIndices, layout, options);
  int64_t n = layout.segments();
  std::vector<int32_t> chunk_indices(Elements(shape.shape)),
      chunk_offsets(n + 1), seq_idx(layout.tokens());
  Check(Fill(
      layout, options, {},
      {{Format::kChunkIndices, HostTensor(chunk_indices.data(), shape.shape)},
       {Format::kChunkOffsets, HostTensor(chunk_offsets.data(), {n + 1})},
       {Format::kSeqIdx, HostTensor(seq_idx.data(), {1, layout.tokens()})}}));
  // [end]
  Expect(chunk_offsets, {0, 2, 3, 4, 7});
  Expect<int32_t>({seq_idx[0], seq_idx[8], seq_idx[12]}, {0, -1, 2});
}

void FlashMask() {
  // [PaddlePaddle's FlashMask]
  LayoutSpec spec;
  spec.row_tokens = 12;
  BatchLayout layout = *BatchLayout::Make(spec, lengths, offsets);
  FormatOptions options;
  options.mask = {MaskKind::kCausalWindow, 3};
  std::vector<int32_t> startend_row_indices(2 * 12);
  Check(Fill(layout, options, {},
             {{Format::kFlashMask,
               HostTensor(startend_row_indices.data(), {2, 1, 12, 1})}}));
  // [end]
  startend_row_indices.resize(12);
  Expect(startend_row_indices, {3, 4, 5, 5, 5, 8, 8, 8, 11, 12, 12, 12});
}

void LossWeights(const std::vector<int32_t>& tokens) {
  // [losses by sequence]
  LayoutSpec spec;
  spec.row_tokens = 12;
  BatchLayout layout = *BatchLayout::Make(spec, lengths, offsets);
  Sources sources;
  sources.tokens = HostTensor(tokens.data(), {layout.sequence_tokens()});
  std::vector<float> weights(2 * 12);
  std::vector<int32_t> targets(layout.sequences()), sequences(2);
  Check(Fill(
      layout, {}, sources,
      {{Format::kLossWeights, HostTensor(weights.data(), {2, 12})},
       {Format::kTargets, HostTensor(targets.data(), {layout.sequences()})},
       {Format::kSequencesPerRow, HostTensor(sequences.data(), {2})}}));
  // [end]
  Expect(targets, {4, 2, 11});
  Expect(sequences, {2, 1});
  Expect<float>({weights[0], weights[1], weights[6], weights[8]},
                {0, 0.25f, 0.5f, 0});
}

}  // namespace

int main() {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 20; ++i) tokens.push_back(100 + i);
  FlashAttention();
  HuggingFace(tokens);
  FlexAttention();
  Sdpa();
  TransformerEngine();
  Megatron(tokens);
  Jax(tokens);
  LinearAttention();
  FlashMask();
  LossWeights(tokens);
  std::printf("all formats are what they should be\n");
}
