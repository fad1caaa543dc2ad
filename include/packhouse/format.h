// The names of what can be made of a packed batch. Plain C++ that nvcc
// compiles; packhouse/fill.h fills them.

#ifndef PACKHOUSE_FORMAT_H_
#define PACKHOUSE_FORMAT_H_

#include <cstdint>

namespace packhouse {

// R = rows(), S = row_tokens(), n = segments(), m = sequences() of the layout.
// The first element type is the usual one. Numbers of segments and sequences
// are counted within a row; a flat layout has one row. "Padding" are the tokens
// of no sequence.
enum class Format : int32_t {
  // For each token, [R, S] where nothing else is said.

  kInputIds,     // int64 or int32. Sources::tokens; pad_id in padding.
  kLabels,       // int64 or int32. Sources::labels by label_shift; ignore_id
                 // where there is nothing to learn.
  kPositionIds,  // int64 or int32. position_start (+ origin) at the first token
                 // of a segment, then one more each.
  kSegmentIds,   // int32 or int64. From 0; segments of padding count.
  kSequenceIds,  // int32 or int64. From 1; padding is 0. (Integer attention
                 // masks, T5, MaxText, Krell et al.)
  kSeqIdx,       // int32 or int64. From 0; padding is -1. (Mamba, MPT)
  kPaddingMask,  // bool. True in padding.
  kLossMask,     // float32. 1 where the label is to be learned, else 0.
  kLossWeights,  // float32. There 1 / the number of such tokens in its
                 // sequence.
  kKvStart,      // int32. The first key, in its row, that the query attends;
  kKvEnd,        // int32. and behind the last. Equal where it attends none.
  kFlashMask,    // int32 [R, 1, S, 1]: the query, in its row, from which on the
                 // key is masked; 0 where it is always. With a mask that looks
                 // both ways [R, 1, S, 2], the second is the first query that
                 // attends it. (PaddlePaddle; causal=True, causal=False)
  kUnpadIndices,  // int64 or int32 [attended_tokens]. The tokens that attend.
  kCpIndices,     // int32 or int64 [cp_ranks, R x S / cp_ranks]. The tokens of
                  // each rank: chunk r and chunk 2 x cp_ranks - 1 - r of every
                  // slot. (Transformer Engine; for one row PyTorch's load
                  // balancers)
  kCpInverse,     // int32 or int64 [R x S]. Where each token stands in that.

  // For each segment. With max_segments, which must be at least n, n is that:
  // offsets repeat the last, all else is 0. (Not so what is made on the host
  // only, below.)

  kCuSeqlens,        // int32 or int64 [n + 1]. Where segments begin among the
                     // tokens that attend; the last is their number.
  kCuSeqlensPadded,  // int32 or int64 [n + 1]. Where they begin among all.
  kSeqUsed,          // int32 [n]. Tokens that attend.
  kRaggedOffsets,    // int64 or int32 [n + 1]. kCuSeqlensPadded in elements of
                     // which a token has ragged_stride. (cuDNN)
  kSequenceTokens,  // int32 [m]. Tokens of each sequence, without padding. With
                    // max_segments as many as that.
  kTargets,         // int32 [m]. Tokens to be learned in each. The same.

  // For each row.

  kSequencesPerRow,  // int32 [R].
  kRowCuSeqlens,     // int32 [R, w + 1]. As kCuSeqlensPadded, in each row from
                     // 0 on; w = row_width, or the most segments of a row. What
                     // is behind a row's last is as row_fill says.
  kDocLens,          // int32 [R, w]. Slots, 0 behind a row's last. (OLMo-core)
  kSequenceLengths,  // int64 or int32 [R, S]. Tokens of the row's sequences, 0
                     // behind the last. (attention_mask_in_length, which takes
                     // them to follow each other: alignment 1)
  kFirstTokenIndex,  // int32 [R, w]. First tokens of the row's sequences, -1
                     // behind the last; w = row_width or the most sequences.

  // For kernels that cut segments into chunks of chunk_tokens; c is their
  // number. (fla) On the host only.

  kChunkIndices,  // int32 or int64 [c, 2]. Segment, and chunk within it.
  kChunkOffsets,  // int32 or int64 [n + 1]. Chunks of the segments before.
  kTokenIndices,  // int32 or int64 [attended_tokens, 2]. Segment, and token
                  // within it.

  // Attention as a list of rectangles. (MagiAttention) On the host only; masks
  // without a window.

  kQRanges,      // int32 [n, 2]. First token and behind the last.
  kKRanges,      // int32 [n, 2].
  kAttnTypeMap,  // int32 [n]. 0 all pairs, 1 causal.

  // A bit a pair, segment by segment, from the lowest bit on; each segment
  // begins at a byte. (FlashInfer's custom mask) On the host only.

  kPackedMask,        // uint8 [bytes of all segments].
  kPackedMaskIndptr,  // int32 [n + 1]. Bytes of the segments before.

  // The eight tensors of FlexAttention's BlockMask; Q = ceil(S / blocks.q),
  // K = ceil(S / blocks.kv).

  kKvNumBlocks,      // int32 [R, 1, Q]
  kKvIndices,        // int32 [R, 1, Q, K]
  kFullKvNumBlocks,  // int32 [R, 1, Q]
  kFullKvIndices,    // int32 [R, 1, Q, K]
  kQNumBlocks,       // int32 [R, 1, K]
  kQIndices,         // int32 [R, 1, K, Q]
  kFullQNumBlocks,   // int32 [R, 1, K]
  kFullQIndices,     // int32 [R, 1, K, Q]

  // Beside kQIndices and kFullQIndices, for a backward pass whose sums are made
  // in one order: how many blocks of keys write to that block of queries before
  // this one, or after it with dq_kv_order. (PyTorch 2.13 and later)

  kDqWriteOrder,      // int32 [R, 1, K, Q]
  kDqWriteOrderFull,  // int32 [R, 1, K, Q]

  // Which pairs attend: [R, 1, S, S], as DenseOptions say. bool, or what is
  // added to scores: float32, bfloat16 or float16. A row's pitch may be larger.
  kDenseMask,
};
inline constexpr int kFormats = static_cast<int>(Format::kDenseMask) + 1;

// Which token a label stands at.
enum class LabelShift : int32_t {
  // labels[t] belongs to token t, and the model compares it with what token
  // t - 1 predicts: the first token of a sequence has none. (Hugging Face)
  kByModel,
  // labels[t] is what token t has to predict, the label of the next token: the
  // last token of a sequence has none. (Megatron, torchtitan, MaxText)
  kShifted,
  // labels[t] belongs to token t and to what it predicts itself. (BERT)
  kNone,
};

enum class RowFill : int32_t {
  kLast,      // the row's last offset, S, again
  kMinusOne,  // -1 (NeMo)
};

}  // namespace packhouse

#endif  // PACKHOUSE_FORMAT_H_
