// A packed batch taken literally: every token is written down, every pair is
// asked, and all formats are read off these. It knows nothing of segment
// tables, closed forms or BatchLayout; only the definitions of pad modes, masks
// and formats in the public headers.

#ifndef PACKHOUSE_TESTS_KERNELS_ORACLE_H_
#define PACKHOUSE_TESTS_KERNELS_ORACLE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <vector>

#include "packhouse/batch_layout.h"
#include "packhouse/fill.h"

namespace packhouse {

using Rows = std::vector<std::vector<uint32_t>>;
using Values = std::vector<int64_t>;

struct OracleToken {
  int row;       // as given
  int sequence;  // of the batch; -1 for padding
  int place;     // within its sequence; of padding: distance from what it is in
  int64_t source = -1;
  int segment = -1;  // of the batch
  bool attends = true;
  int64_t position = 0;
};

class Oracle {
 public:
  Oracle(const LayoutSpec& spec, const Rows& rows,
         const std::vector<uint32_t>& origins = {})
      : spec_(spec) {
    int sequence = 0;
    int64_t source = 0;
    for (size_t r = 0; r < rows.size(); ++r) {
      AddRow(static_cast<int>(r), rows[r], &sequence, &source);
    }
    while (spec.pad_mode == PadMode::kTrim &&
           size() % spec.trim_multiple != 0) {
      AddPadding(static_cast<int>(rows.size()));
    }
    one_row_ = spec.flat || spec.pad_mode == PadMode::kTrim;
    row_tokens_ = one_row_ ? size() : static_cast<int>(spec.row_tokens);
    rows_ = one_row_ ? 1 : static_cast<int>(rows.size());
    for (OracleToken& token : tokens_) {
      if (token.sequence >= 0 && !origins.empty()) {
        token.position += origins[token.sequence];
      }
    }
    // Padding that runs on behind a sequence with an origin.
    for (int t = 1; t < size(); ++t) {
      OracleToken& token = tokens_[t];
      if (token.sequence >= 0 || token.position == 0) continue;
      if (tokens_[t - 1].segment == token.segment) {
        token.position = tokens_[t - 1].position + 1;
      }
    }
  }

  int size() const { return static_cast<int>(tokens_.size()); }
  int rows() const { return rows_; }
  int row_tokens() const { return row_tokens_; }
  const OracleToken& operator[](int t) const { return tokens_[t]; }

  bool Allowed(Mask mask, int q, int k) const {
    const OracleToken& a = tokens_[q];
    const OracleToken& b = tokens_[k];
    if (a.segment != b.segment || !a.attends || !b.attends) return false;
    switch (mask.kind) {
      case MaskKind::kDocument:
        return true;
      case MaskKind::kCausal:
        return k <= q;
      case MaskKind::kCausalWindow:
        return k <= q && int64_t{q} - k < mask.window;
      case MaskKind::kSymmetricWindow:
        return std::abs(int64_t{q} - k) <= mask.window;
    }
    return false;
  }

  // The segments of the batch: their tokens.
  std::vector<std::vector<int>> Segments() const {
    std::vector<std::vector<int>> segments;
    for (int t = 0; t < size(); ++t) {
      if (t == 0 || tokens_[t].segment != tokens_[t - 1].segment) {
        segments.emplace_back();
      }
      segments.back().push_back(t);
    }
    return segments;
  }

  // The tokens of each sequence.
  std::vector<std::vector<int>> Sequences() const {
    std::vector<std::vector<int>> sequences;
    for (int t = 0; t < size(); ++t) {
      const int sequence = tokens_[t].sequence;
      if (sequence < 0) continue;
      if (sequence >= static_cast<int>(sequences.size())) {
        sequences.resize(sequence + 1);
      }
      sequences[sequence].push_back(t);
    }
    return sequences;
  }

  Values Expected(Format format, const FormatOptions& options,
                  const Values& ids, const Values& labels) const;

 private:
  void AddRow(int row, const std::vector<uint32_t>& lengths, int* sequence,
              int64_t* source) {
    const int begin = size();
    for (uint32_t length : lengths) {
      while ((size() - begin) % spec_.alignment != 0) AddPadding(row);
      const int segment = next_segment_++;
      for (uint32_t i = 0; i < length; ++i) {
        OracleToken token = {row, *sequence, static_cast<int>(i)};
        token.source = (*source)++;
        token.segment = segment;
        token.position = i;
        tokens_.push_back(token);
      }
      ++*sequence;
    }
    if (spec_.pad_mode == PadMode::kTrim && !lengths.empty()) return;
    while (size() - begin < spec_.row_tokens) AddPadding(row);
  }

  void AddPadding(int row) {
    OracleToken token = {row, -1, 0};
    const bool first_of_row = tokens_.empty() || tokens_.back().row != row;
    const bool after_padding = !first_of_row && tokens_.back().sequence < 0;
    // A filler is one segment of padding, but in kSingletons.
    const bool in_filler =
        first_of_row ||
        (after_padding && tokens_.back().attends && filler_row_ == row);
    if (first_of_row) filler_row_ = row;
    const bool own_segment =
        spec_.pad_mode == PadMode::kSingletons || first_of_row ||
        (spec_.pad_mode == PadMode::kSegment && !after_padding);
    token.segment = own_segment ? next_segment_++ : tokens_.back().segment;
    token.attends = in_filler || (spec_.pad_mode != PadMode::kMasked &&
                                  spec_.pad_mode != PadMode::kSlots);
    const bool counts = token.attends || spec_.pad_mode == PadMode::kSlots;
    token.position = own_segment || !counts ? 0 : tokens_.back().position + 1;
    tokens_.push_back(token);
  }

  LayoutSpec spec_;
  bool one_row_ = false;
  int rows_ = 0;
  int row_tokens_ = 0;
  int next_segment_ = 0;
  int filler_row_ = -1;
  std::vector<OracleToken> tokens_;
};

// The label of token t, or `ignore`: by the definition of the convention.
inline int64_t OracleLabel(const Oracle& batch, LabelShift shift, int t,
                           const Values& labels, int64_t ignore) {
  if (batch[t].sequence < 0) return ignore;
  const int other = shift == LabelShift::kShifted ? t + 1 : t - 1;
  const bool has_other = other >= 0 && other < batch.size() &&
                         batch[other].sequence == batch[t].sequence;
  if (shift == LabelShift::kNone) return labels[batch[t].source];
  if (!has_other) return ignore;
  return labels[batch[shift == LabelShift::kShifted ? other : t].source];
}

inline int64_t BitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

// Block tables as create_block_mask makes them: sums over blocks of the dense
// mask, and a stable sort that puts present blocks first.
inline Values OracleBlocks(const Oracle& batch, const FormatOptions& options,
                           bool transposed, bool full, bool counts) {
  const int tokens = batch.row_tokens();
  const int own = transposed ? options.blocks.kv : options.blocks.q;
  const int other = transposed ? options.blocks.q : options.blocks.kv;
  const int own_blocks = (tokens + own - 1) / own;
  const int other_blocks = (tokens + other - 1) / other;
  Values values;
  for (int row = 0; row < batch.rows(); ++row) {
    for (int i = 0; i < own_blocks; ++i) {
      std::vector<int> present(other_blocks);
      for (int j = 0; j < other_blocks; ++j) {
        int64_t sum = 0;
        int64_t inside = 0;
        for (int a = i * own; a < std::min((i + 1) * own, tokens); ++a) {
          for (int b = j * other; b < std::min((j + 1) * other, tokens); ++b) {
            const int base = row * tokens;
            ++inside;
            sum += transposed ? batch.Allowed(options.mask, base + b, base + a)
                              : batch.Allowed(options.mask, base + a, base + b);
          }
        }
        const int64_t whole =
            options.blocks.edge_full ? inside : int64_t{own} * other;
        present[j] = full ? sum == whole : sum > 0 && sum < whole;
      }
      if (counts) {
        values.push_back(std::accumulate(present.begin(), present.end(), 0));
        continue;
      }
      std::vector<int> order(other_blocks);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int a, int b) { return present[a] > present[b]; });
      values.insert(values.end(), order.begin(), order.end());
    }
  }
  return values;
}

inline Values Oracle::Expected(Format format, const FormatOptions& options,
                               const Values& ids, const Values& labels) const {
  const auto segments = Segments();
  const auto sequences = Sequences();
  const auto row_of = [&](int t) { return t / row_tokens_; };
  Values values;
  const auto per_token = [&](auto value) {
    for (int t = 0; t < size(); ++t) values.push_back(value(t));
    return values;
  };
  // What stands first in the row of t.
  const auto row_first = [&](int t) { return row_of(t) * row_tokens_; };
  const auto sequences_before_row = [&](int row) {
    int count = 0;
    for (const auto& sequence : sequences) {
      count += sequence.front() < row * row_tokens_;
    }
    return count;
  };
  const auto is_target = [&](int t) {
    // A number that no label is: what is ignored has it.
    const int64_t none = INT64_MIN;
    const int64_t label =
        OracleLabel(*this, options.label_shift, t, labels, none);
    return label != none && label != options.source_ignore_id;
  };
  const auto targets_of = [&](int sequence) {
    int count = 0;
    for (int t : sequences[sequence]) count += is_target(t);
    return count;
  };
  const auto attended_of = [&](const std::vector<int>& segment) {
    int64_t count = 0;
    for (int t : segment) count += tokens_[t].attends;
    return count;
  };
  const auto allowed_keys = [&](int q) {
    std::vector<int> keys;
    for (int k = row_first(q); k < row_first(q) + row_tokens_; ++k) {
      if (Allowed(options.mask, q, k)) keys.push_back(k - row_first(q));
    }
    return keys;
  };
  // Pads what is for each of n up to max_segments.
  const auto padded = [&](Values list, size_t extra, int64_t fill) {
    if (options.max_segments > 0)
      list.resize(options.max_segments + extra, fill);
    return list;
  };
  switch (format) {
    case Format::kInputIds:
      return per_token([&](int t) {
        return tokens_[t].sequence < 0 ? options.pad_id
                                       : ids[tokens_[t].source];
      });
    case Format::kLabels:
      return per_token([&](int t) {
        const int64_t label = OracleLabel(*this, options.label_shift, t, labels,
                                          options.ignore_id);
        return is_target(t) ? label : options.ignore_id;
      });
    case Format::kPositionIds:
      return per_token([&](int t) {
        const bool counts =
            tokens_[t].attends || spec_.pad_mode == PadMode::kSlots;
        return counts ? options.position_start + tokens_[t].position : 0;
      });
    case Format::kSegmentIds:
      return per_token([&](int t) {
        return tokens_[t].segment - tokens_[row_first(t)].segment;
      });
    case Format::kSequenceIds:
    case Format::kSeqIdx:
      return per_token([&](int t) -> int64_t {
        const int shift = format == Format::kSequenceIds ? 1 : 0;
        if (tokens_[t].sequence < 0) return shift - 1;
        return tokens_[t].sequence - sequences_before_row(row_of(t)) + shift;
      });
    case Format::kPaddingMask:
      return per_token([&](int t) { return tokens_[t].sequence < 0; });
    case Format::kLossMask:
      return per_token(
          [&](int t) { return BitsOfFloat(is_target(t) ? 1.0f : 0.0f); });
    case Format::kLossWeights:
      return per_token([&](int t) {
        return BitsOfFloat(is_target(t) ? 1.0f / static_cast<float>(targets_of(
                                                     tokens_[t].sequence))
                                        : 0.0f);
      });
    case Format::kKvStart:
      return per_token([&](int t) {
        const auto keys = allowed_keys(t);
        return keys.empty() ? t - row_first(t) : keys.front();
      });
    case Format::kKvEnd:
      return per_token([&](int t) {
        const auto keys = allowed_keys(t);
        return keys.empty() ? t - row_first(t) : keys.back() + 1;
      });
    case Format::kFlashMask: {
      const bool both = options.mask.kind == MaskKind::kDocument ||
                        options.mask.kind == MaskKind::kSymmetricWindow;
      for (int k = 0; k < size(); ++k) {
        std::vector<int> queries;
        for (int q = row_first(k); q < row_first(k) + row_tokens_; ++q) {
          if (Allowed(options.mask, q, k)) queries.push_back(q - row_first(k));
        }
        values.push_back(queries.empty() ? 0 : queries.back() + 1);
        if (both) values.push_back(queries.empty() ? 0 : queries.front());
      }
      return values;
    }
    case Format::kUnpadIndices:
      for (int t = 0; t < size(); ++t) {
        if (tokens_[t].attends) values.push_back(t);
      }
      return values;
    case Format::kCpIndices:
    case Format::kCpInverse: {
      for (int rank = 0; rank < options.cp_ranks; ++rank) {
        for (const auto& segment : segments) {
          const size_t chunk = segment.size() / (2 * options.cp_ranks);
          for (int64_t piece :
               {int64_t{rank}, 2 * options.cp_ranks - 1 - rank}) {
            for (size_t i = 0; i < chunk; ++i) {
              values.push_back(segment[piece * chunk + i]);
            }
          }
        }
      }
      if (format == Format::kCpIndices) return values;
      Values inverse(values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        inverse[values[i]] = static_cast<int64_t>(i);
      }
      return inverse;
    }
    case Format::kCuSeqlens: {
      values.push_back(0);
      for (const auto& segment : segments) {
        values.push_back(values.back() + attended_of(segment));
      }
      return padded(values, 1, values.back());
    }
    case Format::kCuSeqlensPadded:
    case Format::kRaggedOffsets: {
      const int64_t stride =
          format == Format::kRaggedOffsets ? options.ragged_stride : 1;
      for (const auto& segment : segments) {
        values.push_back(segment.front() * stride);
      }
      values.push_back(size() * stride);
      return padded(values, 1, values.back());
    }
    case Format::kSeqUsed:
      for (const auto& segment : segments) {
        values.push_back(attended_of(segment));
      }
      return padded(values, 0, 0);
    case Format::kSequenceTokens:
      for (const auto& sequence : sequences) {
        values.push_back(static_cast<int64_t>(sequence.size()));
      }
      return padded(values, 0, 0);
    case Format::kTargets:
      for (size_t i = 0; i < sequences.size(); ++i) {
        values.push_back(targets_of(static_cast<int>(i)));
      }
      return padded(values, 0, 0);
    case Format::kSequencesPerRow:
      for (int row = 0; row < rows_; ++row) {
        values.push_back(sequences_before_row(row + 1) -
                         sequences_before_row(row));
      }
      return values;
    case Format::kRowCuSeqlens:
    case Format::kDocLens:
    case Format::kSequenceLengths:
    case Format::kFirstTokenIndex: {
      std::vector<Values> lines(rows_);
      for (const auto& segment : segments) {
        Values& line = lines[row_of(segment.front())];
        if (format == Format::kRowCuSeqlens) {
          line.push_back(segment.front() - row_first(segment.front()));
        } else if (format == Format::kDocLens) {
          line.push_back(static_cast<int64_t>(segment.size()));
        }
      }
      for (const auto& sequence : sequences) {
        Values& line = lines[row_of(sequence.front())];
        if (format == Format::kSequenceLengths) {
          line.push_back(static_cast<int64_t>(sequence.size()));
        } else if (format == Format::kFirstTokenIndex) {
          line.push_back(sequence.front() - row_first(sequence.front()));
        }
      }
      if (format == Format::kRowCuSeqlens) {
        for (Values& line : lines) line.push_back(row_tokens_);
      }
      size_t width = 0;
      for (const Values& line : lines) width = std::max(width, line.size());
      int64_t fill = 0;
      if (format == Format::kSequenceLengths) {
        width = row_tokens_;
      } else if (options.row_width > 0) {
        width = options.row_width + (format == Format::kRowCuSeqlens ? 1 : 0);
      }
      if (format == Format::kFirstTokenIndex) fill = -1;
      if (format == Format::kRowCuSeqlens) {
        fill = options.row_fill == RowFill::kLast ? row_tokens_ : -1;
      }
      for (Values& line : lines) {
        line.resize(width, fill);
        values.insert(values.end(), line.begin(), line.end());
      }
      return values;
    }
    case Format::kChunkIndices:
    case Format::kChunkOffsets: {
      int64_t sum = 0;
      Values offsets = {0};
      for (size_t s = 0; s < segments.size(); ++s) {
        const int64_t chunks =
            (attended_of(segments[s]) + options.chunk_tokens - 1) /
            options.chunk_tokens;
        for (int64_t chunk = 0; chunk < chunks; ++chunk) {
          values.push_back(static_cast<int64_t>(s));
          values.push_back(chunk);
        }
        offsets.push_back(sum += chunks);
      }
      return format == Format::kChunkIndices ? values : offsets;
    }
    case Format::kTokenIndices:
      for (size_t s = 0; s < segments.size(); ++s) {
        for (int64_t t = 0; t < attended_of(segments[s]); ++t) {
          values.push_back(static_cast<int64_t>(s));
          values.push_back(t);
        }
      }
      return values;
    case Format::kQRanges:
    case Format::kKRanges:
      for (const auto& segment : segments) {
        values.push_back(segment.front());
        values.push_back(segment.front() + attended_of(segment));
      }
      return values;
    case Format::kAttnTypeMap:
      return Values(segments.size(), options.mask.kind == MaskKind::kCausal);
    case Format::kPackedMask:
    case Format::kPackedMaskIndptr: {
      Values indptr = {0};
      for (const auto& segment : segments) {
        Values bits;
        for (int q : segment) {
          for (int k : segment) {
            if (!tokens_[q].attends || !tokens_[k].attends) continue;
            bits.push_back(Allowed(options.mask, q, k));
          }
        }
        while (bits.size() % 8 != 0) bits.push_back(0);
        for (size_t i = 0; i < bits.size(); i += 8) {
          int64_t byte = 0;
          for (int b = 0; b < 8; ++b) byte += bits[i + b] << b;
          values.push_back(byte);
        }
        indptr.push_back(static_cast<int64_t>(values.size()));
      }
      return format == Format::kPackedMask ? values : indptr;
    }
    case Format::kKvNumBlocks:
      return OracleBlocks(*this, options, false, false, true);
    case Format::kKvIndices:
      return OracleBlocks(*this, options, false, false, false);
    case Format::kFullKvNumBlocks:
      return OracleBlocks(*this, options, false, true, true);
    case Format::kFullKvIndices:
      return OracleBlocks(*this, options, false, true, false);
    case Format::kQNumBlocks:
      return OracleBlocks(*this, options, true, false, true);
    case Format::kQIndices:
      return OracleBlocks(*this, options, true, false, false);
    case Format::kFullQNumBlocks:
      return OracleBlocks(*this, options, true, true, true);
    case Format::kFullQIndices:
      return OracleBlocks(*this, options, true, true, false);
    case Format::kDqWriteOrder:
    case Format::kDqWriteOrderFull: {
      const bool full = format == Format::kDqWriteOrderFull;
      const Values order = OracleBlocks(*this, options, true, full, false);
      const int q_blocks =
          (row_tokens_ + options.blocks.q - 1) / options.blocks.q;
      const int kv_blocks =
          (row_tokens_ + options.blocks.kv - 1) / options.blocks.kv;
      const auto touches = [&](int row, int i, int j) {
        for (int q = i * options.blocks.q;
             q < std::min((i + 1) * options.blocks.q, row_tokens_); ++q) {
          for (int k = j * options.blocks.kv;
               k < std::min((j + 1) * options.blocks.kv, row_tokens_); ++k) {
            const int base = row * row_tokens_;
            if (Allowed(options.mask, base + q, base + k)) return true;
          }
        }
        return false;
      };
      for (size_t e = 0; e < order.size(); ++e) {
        const int row = static_cast<int>(e / q_blocks / kv_blocks);
        const int own = static_cast<int>(e / q_blocks % kv_blocks);
        const int query = static_cast<int>(order[e]);
        int before = 0, all = 0;
        for (int j = 0; j < kv_blocks; ++j) {
          const bool there = touches(row, query, j);
          all += there;
          before += there && j < own;
        }
        values.push_back(options.dq_kv_order ? all - 1 - before : before);
      }
      return values;
    }
    case Format::kDenseMask:
      for (int q = 0; q < size(); ++q) {
        const bool empty = allowed_keys(q).empty();
        for (int k = row_first(q); k < row_first(q) + row_tokens_; ++k) {
          values.push_back(Allowed(options.mask, q, k) ||
                           (empty && !options.dense.empty_rows && q == k));
        }
      }
      return values;
  }
  return values;
}

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_KERNELS_ORACLE_H_
