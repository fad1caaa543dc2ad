#include "client/cli/masks/masks.h"

#include <limits>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "client/cli/error_text.h"
#include "client/cli/masks/mask_array.h"
#include "client/cli/masks/mask_drawing.h"
#include "client/cli/masks/mask_picture.h"
#include "client/cli/masks/mask_text.h"
#include "client/cli/output_file.h"
#include "kernels/fill_plan.h"

namespace packhouse {
namespace {

// A row of so many tokens is drawn in a few seconds.
constexpr int64_t kMaxDrawnTokens = int64_t{1} << 20;

// The integers of "7,8,9"; none of "".
template <typename Integer>
absl::Status ParseList(const char* option, absl::string_view text,
                       std::vector<Integer>* values) {
  if (text.empty()) return absl::OkStatus();
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    Integer value;
    if (!absl::SimpleAtoi(word, &value)) {
      return absl::InvalidArgumentError(absl::StrCat(
          option, ": ", Quoted(word), " is not a whole number from ",
          std::numeric_limits<Integer>::min(), " to ",
          std::numeric_limits<Integer>::max()));
    }
    values->push_back(value);
  }
  return absl::OkStatus();
}

// What the library says, in the words of the options.
absl::Status InMasksOptionNames(const absl::Status& status) {
  return absl::Status(
      status.code(),
      absl::StrReplaceAll(status.message(),
                          {{"row_tokens is ", "--capacity is "},
                           {"alignment is ", "--alignment is "},
                           {"pad_mode ", "--pad-mode "},
                           {"pad_mode to ", "--pad-mode to "},
                           {"trim_multiple is ", "--trim-multiple is "},
                           {"max_segments is ", "--max-segments is "},
                           {"row_width is ", "--row-width is "},
                           {"position_start is ", "--position-start is "},
                           {"ragged_stride is ", "--ragged-stride is "},
                           {"pad_id is ", "--pad-id is "},
                           {"ignore_id is ", "--ignore-id is "}}));
}

absl::StatusOr<BatchLayout> MakeLayout(const MasksQuery& query) {
  std::vector<uint32_t> lengths;
  std::vector<uint64_t> offsets = {0};
  for (const absl::string_view row : absl::StrSplit(query.rows, ';')) {
    if (auto status = ParseList("--rows", row, &lengths); !status.ok()) {
      return status;
    }
    offsets.push_back(lengths.size());
  }
  absl::StatusOr<BatchLayout> layout =
      BatchLayout::Make(query.layout, lengths, offsets);
  if (!layout.ok()) return InMasksOptionNames(layout.status());
  return layout;
}

absl::Status CheckWindow(const MasksQuery& query) {
  const Mask mask = query.options.mask;
  const char* const name = kMaskNames[static_cast<int>(mask.kind)];
  const bool windowed = HasWindow(mask);
  if (windowed != query.window_given) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--mask ", name, windowed ? " needs a --window" : " has no --window"));
  }
  if (mask.kind == MaskKind::kCausalWindow && mask.window < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--window is ", mask.window, ", with --mask ", name,
                     " a token attends itself: it must be at least 1"));
  }
  return absl::OkStatus();
}

// An option that changes nothing of what is made is an error.
absl::Status CheckDense(const MasksQuery& query) {
  const DenseOptions& dense = query.options.dense;
  const bool made = absl::c_linear_search(query.formats, Format::kDenseMask);
  const bool of_bool = query.dtype.value_or(DType::kBool) == DType::kBool;
  if (!dense.true_attends && !(made && of_bool)) {
    return absl::InvalidArgumentError(
        "--true-masks is of --format dense_mask with --dtype bool");
  }
  if (!dense.minus_infinity && (!made || of_bool)) {
    return absl::InvalidArgumentError(
        "--lowest is of --format dense_mask with --dtype float32, bfloat16 or "
        "float16");
  }
  return absl::OkStatus();
}

// The tokens of all sequences: those that are given or, where `text` is absent,
// running numbers.
absl::Status MakeTokens(const char* option,
                        const absl::optional<std::string>& text,
                        const BatchLayout& layout,
                        std::vector<int64_t>* tokens) {
  if (!text.has_value()) {
    if (layout.sequence_tokens() > kMaxPrintedElements) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the sequences have ", layout.sequence_tokens(),
          " tokens, formats of tokens and labels are made of up to ",
          kMaxPrintedElements));
    }
    tokens->resize(static_cast<size_t>(layout.sequence_tokens()));
    std::iota(tokens->begin(), tokens->end(), 0);
    return absl::OkStatus();
  }
  absl::Status status = ParseList(option, *text, tokens);
  if (!status.ok()) return status;
  const int64_t given = static_cast<int64_t>(tokens->size());
  if (given != layout.sequence_tokens()) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " has ", given, " values, the sequences have ",
                     layout.sequence_tokens(), " tokens"));
  }
  return absl::OkStatus();
}

Tensor TensorOf(const std::vector<int64_t>& values) {
  return HostTensor(values.data(), {static_cast<int64_t>(values.size())});
}

absl::StatusOr<std::vector<MaskArray>> MakeArrays(const MasksQuery& query,
                                                  const BatchLayout& layout) {
  // Not made without need: offsets of 2^31 tokens need none of them.
  std::vector<int64_t> tokens;
  std::vector<int64_t> labels;
  Sources sources;
  if (query.tokens.has_value() || query.labels.has_value() ||
      absl::c_any_of(query.formats, &ReadsSources)) {
    absl::Status status = MakeTokens("--tokens", query.tokens, layout, &tokens);
    if (status.ok() && query.labels.has_value()) {
      status = MakeTokens("--labels", query.labels, layout, &labels);
      sources.labels = TensorOf(labels);
    }
    if (!status.ok()) return status;
    sources.tokens = TensorOf(tokens);
  }
  auto arrays = MakeMaskArrays(layout, query.options, sources, query.formats,
                               query.dtype);
  if (!arrays.ok()) return InMasksOptionNames(arrays.status());
  return arrays;
}

absl::Status CheckPicturePath(const MasksQuery& query) {
  if (query.picture_path.empty()) return absl::OkStatus();
  if (query.json && IsStandardOutput(query.picture_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--picture ", query.picture_path,
                     " and --json cannot share standard output"));
  }
  return CheckOutputPath(query.picture_path);
}

absl::Status WritePicture(const MasksQuery& query, const BatchLayout& layout) {
  absl::optional<BlockShape> blocks;
  if (query.blocks_given) blocks = query.options.blocks;
  const absl::StatusOr<std::string> png =
      MaskPng(layout, query.options, blocks);
  if (!png.ok()) return png.status();
  absl::StatusOr<OutputFile> file = OutputFile::Open(query.picture_path);
  if (!file.ok()) return file.status();
  absl::Status status = file->Write(*png);
  return status.ok() ? file->Commit() : status;
}

}  // namespace

absl::optional<BlockShape> ParseBlockShape(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> sides =
      absl::StrSplit(text, absl::MaxSplits('x', 1));
  const bool square = !absl::StrContains(text, 'x');
  BlockShape shape;
  if (!absl::SimpleAtoi(sides.first, &shape.q) || shape.q < 1 ||
      !absl::SimpleAtoi(square ? sides.first : sides.second, &shape.kv) ||
      shape.kv < 1) {
    return absl::nullopt;
  }
  return shape;
}

absl::Status PrintMasks(const MasksQuery& query, std::ostream& out) {
  absl::Status status = CheckPicturePath(query);
  if (status.ok()) status = CheckWindow(query);
  if (status.ok()) status = CheckDense(query);
  if (!status.ok()) return status;
  const absl::StatusOr<BatchLayout> layout = MakeLayout(query);
  if (!layout.ok()) return layout.status();
  const absl::StatusOr<std::vector<MaskArray>> arrays =
      MakeArrays(query, *layout);
  if (!arrays.ok()) return arrays.status();
  const bool drawn = !query.json && query.formats.empty();
  if ((drawn || !query.picture_path.empty()) &&
      layout->row_tokens() > kMaxDrawnTokens) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rows of ", layout->row_tokens(), " tokens cannot be drawn, ",
        kMaxDrawnTokens, " is the most: ask for --format or --json"));
  }
  if (!query.picture_path.empty()) {
    status = WritePicture(query, *layout);
    if (!status.ok()) return status;
    if (IsStandardOutput(query.picture_path)) return absl::OkStatus();
  }
  if (query.json) {
    PrintJson(query, *layout, *arrays, out);
  } else {
    PrintText(*layout, *arrays, out);
  }
  if (drawn) DrawMask(*layout, query.options, out);
  return absl::OkStatus();
}

}  // namespace packhouse
