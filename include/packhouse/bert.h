// The arrays of the packed BERT of Krell et al. (arXiv 2107.02027, section 3.2,
// and its published code): what its embedding, its masks and its two losses
// read.
//
// A row of S tokens holds the bodies of its sequences, without their first
// tokens, one after another from 0 on; the first token of sequence i of the row
// (the one that is classified) stands at S - 1 - i, so that a pooler takes the
// last max_sequences tokens of each row. Segments are then not contiguous: the
// mask is FillEqualityMask of the input mask.
//
// On the host only; these arrays are built once by an input pipeline.

#ifndef PACKHOUSE_BERT_H_
#define PACKHOUSE_BERT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "packhouse/batch_layout.h"

namespace packhouse {

struct BertOptions {
  // Sequences that a row may have, from 1 on.
  int64_t max_sequences = 3;
  // Masked tokens that the arrays of a row have room for, from 1 on: those of
  // an unpacked row, and one more for each further sequence, since the number
  // of each is rounded up. (76 + 3 - 1 for S = 512 in the published code.)
  int64_t max_masked = 78;
};

// Of the sequences in the order of the layout; n is their number, T the sum of
// their tokens.
struct BertSources {
  absl::Span<const int32_t> tokens;       // [T]
  absl::Span<const int32_t> token_types;  // [T], 0 or 1
  // The masked tokens of sequence i are entries masked_offsets[i] to
  // masked_offsets[i + 1] - 1: the place in the sequence, and the token that
  // was there.
  absl::Span<const uint64_t> masked_offsets;   // [n + 1], from 0
  absl::Span<const int32_t> masked_positions;  // from 0 to the length - 1
  absl::Span<const int32_t> masked_ids;
  absl::Span<const int32_t> next_sentence_labels;  // [n]
};

// Row-major, of the caller; all are written.
struct BertOutputs {
  // [R, S]
  absl::Span<int32_t> input_ids;     // 0 in padding
  absl::Span<int32_t> segment_ids;   // token types, 0 in padding
  absl::Span<int32_t> input_mask;    // number of the sequence from 1; padding 0
  absl::Span<int32_t> position_ids;  // first token 0, body from 1 on; padding 0
  // [R, max_masked]: where in the row, which token, and the number of its
  // sequence from 1. 0 behind the last.
  absl::Span<int32_t> masked_lm_positions;
  absl::Span<int32_t> masked_lm_ids;
  absl::Span<float> masked_lm_mask;
  // [R, max_sequences], as the pooler finds them: sequence i of the row in
  // place max_sequences - 1 - i.
  absl::Span<int32_t> next_sentence_labels;
  absl::Span<float> next_sentence_mask;  // 1 where there is one
};

// INVALID_ARGUMENT, with nothing written, where rows of the layout are flat or
// trimmed, a row has more sequences or masked tokens than the options say, a
// masked position lies beyond its sequence, a token type is neither 0 nor 1, or
// a span has another size than it must; the text names it.
absl::Status FillBert(const BatchLayout& layout, const BertOptions& options,
                      const BertSources& sources, const BertOutputs& outputs);

}  // namespace packhouse

#endif  // PACKHOUSE_BERT_H_
