#include "kernels/fill_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/host_formats.h"

namespace packhouse {
namespace {

using Types = std::vector<DType>;

struct FormatInfo {
  absl::string_view name;
  FormatKind kind;
  DType dtypes[4];
  int dtype_count;
};

constexpr FormatInfo Info(absl::string_view name, FormatKind kind,
                          DType first) {
  return {name, kind, {first}, 1};
}
constexpr FormatInfo Info(absl::string_view name, FormatKind kind, DType first,
                          DType second) {
  return {name, kind, {first, second}, 2};
}

// No format has more: its bytes fit an int64_t. What is made element by element
// has elements of 32 bits (ElementValue), tables of blocks have lines that are
// counted so.
constexpr int64_t kMaxElements = int64_t{1} << 60;
constexpr int64_t kMaxArrayElements = UINT32_MAX;

constexpr DType kI32 = DType::kInt32;
constexpr DType kI64 = DType::kInt64;
constexpr FormatKind kToken = FormatKind::kToken;
constexpr FormatKind kElement = FormatKind::kElement;
constexpr FormatKind kHostOnly = FormatKind::kHostOnly;
constexpr FormatKind kBlocks = FormatKind::kBlocks;

// In the order of Format.
constexpr FormatInfo kInfos[kFormats] = {
    Info("input_ids", kToken, kI64, kI32),
    Info("labels", kToken, kI64, kI32),
    Info("position_ids", kToken, kI64, kI32),
    Info("segment_ids", kToken, kI32, kI64),
    Info("sequence_ids", kToken, kI32, kI64),
    Info("seq_idx", kToken, kI32, kI64),
    Info("padding_mask", kToken, DType::kBool),
    Info("loss_mask", kToken, DType::kFloat32),
    Info("loss_weights", kToken, DType::kFloat32),
    Info("kv_start", kToken, kI32),
    Info("kv_end", kToken, kI32),
    Info("flash_mask", kElement, kI32),
    Info("unpad_indices", kElement, kI64, kI32),
    Info("cp_indices", kElement, kI32, kI64),
    Info("cp_inverse", kToken, kI32, kI64),
    Info("cu_seqlens", kElement, kI32, kI64),
    Info("cu_seqlens_padded", kElement, kI32, kI64),
    Info("seq_used", kElement, kI32),
    Info("ragged_offsets", kElement, kI64, kI32),
    Info("sequence_tokens", kElement, kI32),
    Info("targets", kElement, kI32),
    Info("sequences_per_row", kElement, kI32),
    Info("row_cu_seqlens", kElement, kI32),
    Info("doc_lens", kElement, kI32),
    Info("sequence_lengths", kElement, kI64, kI32),
    Info("first_token_index", kElement, kI32),
    Info("chunk_indices", kHostOnly, kI32, kI64),
    Info("chunk_offsets", kHostOnly, kI32, kI64),
    Info("token_indices", kHostOnly, kI32, kI64),
    Info("q_ranges", kHostOnly, kI32),
    Info("k_ranges", kHostOnly, kI32),
    Info("attn_type_map", kHostOnly, kI32),
    Info("packed_mask", kHostOnly, DType::kUint8),
    Info("packed_mask_indptr", kHostOnly, kI32),
    Info("kv_num_blocks", kBlocks, kI32),
    Info("kv_indices", kBlocks, kI32),
    Info("full_kv_num_blocks", kBlocks, kI32),
    Info("full_kv_indices", kBlocks, kI32),
    Info("q_num_blocks", kBlocks, kI32),
    Info("q_indices", kBlocks, kI32),
    Info("full_q_num_blocks", kBlocks, kI32),
    Info("full_q_indices", kBlocks, kI32),
    Info("dq_write_order", kElement, kI32),
    Info("dq_write_order_full", kElement, kI32),
    {"dense_mask",
     FormatKind::kDense,
     {DType::kBool, DType::kFloat32, DType::kBFloat16, DType::kFloat16},
     4},
};

constexpr int CountArrays() {
  int arrays = 0;
  for (const FormatInfo& info : kInfos) {
    arrays += info.kind == kToken || info.kind == kElement ? 1 : 0;
  }
  return arrays;
}
static_assert(CountArrays() == kMaxArrays, "one job has room for all of them");

bool IsFormat(Format format) {
  const int i = static_cast<int>(format);
  return i >= 0 && i < kFormats;
}

const FormatInfo& InfoOf(Format format) {
  return kInfos[static_cast<int>(format)];
}

Types TypesOf(Format format) {
  const FormatInfo& info = InfoOf(format);
  return {info.dtypes, info.dtypes + info.dtype_count};
}

bool DependsOnMask(Format format) {
  switch (format) {
    case Format::kKvStart:
    case Format::kKvEnd:
    case Format::kFlashMask:
    case Format::kQRanges:
    case Format::kKRanges:
    case Format::kAttnTypeMap:
    case Format::kPackedMask:
    case Format::kDqWriteOrder:
    case Format::kDqWriteOrderFull:
      return true;
    default:
      return InfoOf(format).kind == FormatKind::kBlocks ||
             InfoOf(format).kind == FormatKind::kDense;
  }
}

bool IsOfShares(Format format) {
  return format == Format::kCpIndices || format == Format::kCpInverse;
}

bool ReadsLabels(Format format) {
  return format == Format::kLabels || format == Format::kLossMask ||
         format == Format::kLossWeights || format == Format::kTargets;
}

bool ReadsTargets(Format format) {
  return format == Format::kLossWeights || format == Format::kTargets;
}

int64_t MostElements(Format format) {
  switch (InfoOf(format).kind) {
    case FormatKind::kElement:
      return kMaxArrayElements;
    case FormatKind::kBlocks:
      return kMaxBlockElements;
    default:
      return kMaxElements;
  }
}

absl::Status Invalid(Format format, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(InfoOf(format).name, ": ", what));
}

absl::Status OutOfRange(Format format, absl::string_view name, int64_t value,
                        int64_t low, int64_t high) {
  return Invalid(format, absl::StrCat(name, " is ", value, ", it must be from ",
                                      low, " to ", high));
}

// ------------------------------------------------------------------ options --

// Whether `value` is one of the `count` of an enum.
template <typename Enum>
absl::Status CheckEnum(Format format, absl::string_view name, Enum value,
                       int count) {
  const int number = static_cast<int>(value);
  if (number >= 0 && number < count) return absl::OkStatus();
  return Invalid(format, absl::StrCat(name, " is number ", number,
                                      ", there is no such one"));
}

absl::Status CheckMask(Format format, Mask mask) {
  if (auto status = CheckEnum(format, "mask", mask.kind, 4); !status.ok()) {
    return status;
  }
  if (mask.kind == MaskKind::kCausalWindow && mask.window < 1) {
    return OutOfRange(format, "window", mask.window, 1, INT32_MAX);
  }
  if (mask.kind == MaskKind::kSymmetricWindow && mask.window < 0) {
    return OutOfRange(format, "window", mask.window, 0, INT32_MAX);
  }
  const bool rectangles = format == Format::kQRanges ||
                          format == Format::kKRanges ||
                          format == Format::kAttnTypeMap;
  if (HasWindow(mask) && rectangles) {
    return Invalid(format, absl::StrCat("a mask with a window (", mask.window,
                                        ") is no rectangle for each segment"));
  }
  return absl::OkStatus();
}

// What a width option says, or what it has to be at least.
absl::StatusOr<int64_t> Width(Format format, absl::string_view name,
                              int64_t option, int64_t least) {
  if (option == 0) return least;
  if (option < least || option >= INT32_MAX) {
    return OutOfRange(format, name, option, least, INT32_MAX - 1);
  }
  return option;
}

// ------------------------------------------------------------------- shapes --

using Shape = absl::StatusOr<std::vector<int64_t>>;

Shape PerSegment(Format format, const BatchLayout& layout,
                 const FormatOptions& options) {
  const bool of_sequences =
      format == Format::kSequenceTokens || format == Format::kTargets;
  absl::StatusOr<int64_t> width =
      Width(format, "max_segments", options.max_segments, layout.segments());
  if (!width.ok()) return width.status();
  if (of_sequences) {
    return std::vector<int64_t>{options.max_segments == 0 ? layout.sequences()
                                                          : *width};
  }
  return std::vector<int64_t>{format == Format::kSeqUsed ? *width : *width + 1};
}

Shape PerRow(Format format, const BatchLayout& layout,
             const FormatOptions& options) {
  absl::StatusOr<int64_t> width =
      Width(format, "row_width", options.row_width,
            format == Format::kFirstTokenIndex ? layout.max_row_sequences()
                                               : layout.max_row_segments());
  if (!width.ok()) return width.status();
  return std::vector<int64_t>{
      layout.rows(), format == Format::kRowCuSeqlens ? *width + 1 : *width};
}

Shape OfBlocks(Format format, const BatchLayout& layout,
               const FormatOptions& options) {
  if (absl::Status status = layout.CheckBlocks(options.blocks); !status.ok()) {
    return Invalid(format, status.message());
  }
  const int32_t tokens = static_cast<int32_t>(layout.row_tokens());
  const int64_t q = CeilDiv(tokens, options.blocks.q);
  const int64_t kv = CeilDiv(tokens, options.blocks.kv);
  switch (format) {
    case Format::kKvNumBlocks:
    case Format::kFullKvNumBlocks:
      return std::vector<int64_t>{layout.rows(), 1, q};
    case Format::kKvIndices:
    case Format::kFullKvIndices:
      return std::vector<int64_t>{layout.rows(), 1, q, kv};
    case Format::kQNumBlocks:
    case Format::kFullQNumBlocks:
      return std::vector<int64_t>{layout.rows(), 1, kv};
    default:
      return std::vector<int64_t>{layout.rows(), 1, kv, q};
  }
}

Shape OfHostOnly(Format format, const BatchLayout& layout,
                 const FormatOptions& options) {
  const int64_t n = layout.segments();
  if (options.chunk_tokens < 1 || options.chunk_tokens > kMaxBatchTokens) {
    return OutOfRange(format, "chunk_tokens", options.chunk_tokens, 1,
                      kMaxBatchTokens);
  }
  switch (format) {
    case Format::kChunkIndices:
      return std::vector<int64_t>{CountChunks(layout, options.chunk_tokens), 2};
    case Format::kChunkOffsets:
      return std::vector<int64_t>{n + 1};
    case Format::kTokenIndices:
      return std::vector<int64_t>{layout.attended_tokens(), 2};
    case Format::kQRanges:
    case Format::kKRanges:
      return std::vector<int64_t>{n, 2};
    case Format::kAttnTypeMap:
      return std::vector<int64_t>{n};
    default:
      break;
  }
  const absl::optional<int64_t> bytes = PackedMaskBytes(layout);
  if (!bytes.has_value()) {
    return Invalid(
        format,
        absl::StrCat("a bit for each pair of segments of up to ",
                     layout.max_segment(), " tokens takes more than ",
                     INT32_MAX, " bytes, the most that 32-bit offsets reach"));
  }
  return std::vector<int64_t>{format == Format::kPackedMask ? *bytes : n + 1};
}

Shape DimensionsOf(Format format, const BatchLayout& layout,
                   const FormatOptions& options) {
  const int64_t rows = layout.rows();
  const int64_t tokens = layout.row_tokens();
  switch (format) {
    case Format::kUnpadIndices:
      return std::vector<int64_t>{layout.attended_tokens()};
    case Format::kCpIndices:
      return std::vector<int64_t>{options.cp_ranks,
                                  layout.tokens() / options.cp_ranks};
    case Format::kFlashMask:
      return std::vector<int64_t>{rows, 1, tokens,
                                  LooksBothWays(options.mask) ? 2 : 1};
    case Format::kSequencesPerRow:
      return std::vector<int64_t>{rows};
    case Format::kDqWriteOrder:
    case Format::kDqWriteOrderFull:
      return OfBlocks(Format::kQIndices, layout, options);
    case Format::kDenseMask:
      return std::vector<int64_t>{rows, 1, tokens, tokens};
    default:
      break;
  }
  if (IsSizedBySegments(format)) return PerSegment(format, layout, options);
  if (IsSizedByRowWidth(format)) return PerRow(format, layout, options);
  if (InfoOf(format).kind == FormatKind::kBlocks) {
    return OfBlocks(format, layout, options);
  }
  if (InfoOf(format).kind == FormatKind::kHostOnly) {
    return OfHostOnly(format, layout, options);
  }
  return std::vector<int64_t>{rows, tokens};  // kSequenceLengths too
}

// ------------------------------------------------------------------ tensors --

std::string TypesText(const Types& dtypes) {
  return absl::StrJoin(dtypes, " or ", [](std::string* out, DType dtype) {
    absl::StrAppend(out, DTypeName(dtype));
  });
}

absl::Status CheckPlace(absl::string_view name, Side side,
                        const Tensor& tensor) {
  const bool reachable =
      side == Side::kHost ? tensor.device.on_host() : tensor.device.on_cuda();
  if (!reachable) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": it is on ", DeviceName(tensor.device), ", it has to be on ",
        side == Side::kHost ? "the host" : "a CUDA device"));
  }
  if (Elements(tensor.shape) == 0) return absl::OkStatus();
  if (tensor.data == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": its data is null, its shape ", ShapeText(tensor.shape)));
  }
  const std::string misaligned = MisalignmentText(tensor);
  if (misaligned.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", misaligned));
}

absl::Status CheckPitch(Format format, const Tensor& tensor) {
  const int64_t last = tensor.shape.back();
  if (tensor.pitch == 0 || tensor.pitch == last) return absl::OkStatus();
  if (format != Format::kDenseMask) {
    return Invalid(format, absl::StrCat("its pitch is ", tensor.pitch,
                                        ", it has to be compact: ", last));
  }
  const int64_t lines = Elements(tensor.shape) / std::max<int64_t>(last, 1);
  // Bytes of the whole have to fit a signed 64-bit number.
  const int64_t most = INT64_MAX / 8 / std::max<int64_t>(lines, 1);
  if (tensor.pitch >= last && tensor.pitch <= most) return absl::OkStatus();
  return OutOfRange(format, "pitch", tensor.pitch, last, most);
}

absl::Status CheckOutput(Side side, const Output& output,
                         const FormatShape& wanted) {
  const Format format = output.format;
  const Tensor& tensor = output.tensor;
  if (std::find(wanted.dtypes.begin(), wanted.dtypes.end(), tensor.dtype) ==
      wanted.dtypes.end()) {
    return Invalid(format,
                   absl::StrCat("its type is ", DTypeName(tensor.dtype),
                                ", it must be ", TypesText(wanted.dtypes)));
  }
  if (tensor.shape != wanted.shape) {
    const int64_t bytes = DTypeBytes(tensor.dtype);
    return Invalid(format,
                   absl::StrCat("its shape is ", ShapeText(tensor.shape),
                                ", it must be ", ShapeText(wanted.shape), " (",
                                Elements(wanted.shape) * bytes, " bytes)"));
  }
  if (tensor.read_only) return Invalid(format, "it is read-only");
  if (absl::Status status = CheckPlace(InfoOf(format).name, side, tensor);
      !status.ok()) {
    return status;
  }
  return CheckPitch(format, tensor);
}

absl::Status CheckSource(absl::string_view name, Side side, int64_t tokens,
                         const absl::optional<Tensor>& source) {
  if (!source.has_value()) return absl::OkStatus();
  if (source->dtype != DType::kUint16 && source->dtype != DType::kInt32 &&
      source->dtype != DType::kInt64) {
    return absl::InvalidArgumentError(absl::StrCat(
        "source ", name, ": its type is ", DTypeName(source->dtype),
        ", it must be uint16, int32 or int64"));
  }
  if (source->shape != std::vector<int64_t>{tokens}) {
    return absl::InvalidArgumentError(absl::StrCat(
        "source ", name, ": its shape is ", ShapeText(source->shape),
        ", it must be [", tokens, "], the tokens of all sequences"));
  }
  if (source->pitch != 0 && source->pitch != tokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("source ", name, ": its pitch is ", source->pitch,
                     ", it has to be compact: ", tokens));
  }
  return CheckPlace(absl::StrCat("source ", name), side, *source);
}

SourceView ViewOf(const absl::optional<Tensor>& source) {
  if (!source.has_value()) return {nullptr, 0};
  return {source->data, static_cast<int32_t>(DTypeBytes(source->dtype))};
}

// --------------------------------------------------------------------- jobs --

uint32_t MaskedBits(DType dtype, bool minus_infinity) {
  switch (dtype) {
    case DType::kFloat32:
      return minus_infinity ? 0xFF800000u : 0xFF7FFFFFu;
    case DType::kBFloat16:
      return minus_infinity ? 0xFF80u : 0xFF7Fu;
    default:  // kFloat16
      return minus_infinity ? 0xFC00u : 0xFBFFu;
  }
}

DenseTensor DenseTensorOf(const Tensor& tensor, const DenseOptions& options) {
  DenseTensor dense;
  dense.data = tensor.data;
  dense.pitch = tensor.pitch == 0 ? tensor.shape.back() : tensor.pitch;
  dense.bytes = static_cast<int32_t>(DTypeBytes(tensor.dtype));
  if (tensor.dtype == DType::kBool) {
    dense.allowed = options.true_attends ? 1 : 0;
    dense.denied = 1 - dense.allowed;
  } else {
    dense.allowed = 0;
    dense.denied = MaskedBits(tensor.dtype, options.minus_infinity);
  }
  return dense;
}

void AddBlockTable(Format format, void* data, BlocksJob* job) {
  int32_t* const table = static_cast<int32_t*>(data);
  BlockTables& of_queries = job->sides[static_cast<int>(BlockSide::kQueries)];
  BlockTables& of_keys = job->sides[static_cast<int>(BlockSide::kKeys)];
  switch (format) {
    case Format::kKvNumBlocks:
      of_queries.num_blocks = table;
      break;
    case Format::kKvIndices:
      of_queries.indices = table;
      break;
    case Format::kFullKvNumBlocks:
      of_queries.full_num_blocks = table;
      break;
    case Format::kFullKvIndices:
      of_queries.full_indices = table;
      break;
    case Format::kQNumBlocks:
      of_keys.num_blocks = table;
      break;
    case Format::kQIndices:
      of_keys.indices = table;
      break;
    case Format::kFullQNumBlocks:
      of_keys.full_num_blocks = table;
      break;
    default:
      of_keys.full_indices = table;
      break;
  }
}

ValueContext ContextOf(const BatchLayout& layout, const FormatOptions& options,
                       const Sources& sources) {
  ValueContext context = {};
  context.table = layout.table();
  context.mask = options.mask;
  context.blocks = options.blocks;
  context.dq_kv_order = options.dq_kv_order;
  context.label_shift = options.label_shift;
  context.row_fill = options.row_fill;
  context.cp_ranks = static_cast<int32_t>(options.cp_ranks);
  context.pad_id = options.pad_id;
  context.ignore_id = options.ignore_id;
  context.source_ignore_id = options.source_ignore_id;
  context.position_start = options.position_start;
  context.ragged_stride = options.ragged_stride;
  context.tokens = ViewOf(sources.tokens);
  context.labels =
      ViewOf(sources.labels.has_value() ? sources.labels : sources.tokens);
  return context;
}

// Distributes checked outputs over jobs.
class Planner {
 public:
  Planner(const BatchLayout& layout, const FormatOptions& options,
          const Sources& sources)
      : layout_(layout), options_(options), sources_(sources) {}

  void Add(const Output& output) {
    const Tensor& tensor = output.tensor;
    if (Elements(tensor.shape) == 0) return;
    const int32_t bytes = static_cast<int32_t>(DTypeBytes(tensor.dtype));
    if (KindOf(output.format) != FormatKind::kHostOnly) {
      plan_.bytes += Elements(tensor.shape) * bytes;
    }
    plan_.counts_targets |= ReadsTargets(output.format);
    switch (KindOf(output.format)) {
      case FormatKind::kToken:
        tokens_.push_back(ArrayOf(output));
        break;
      case FormatKind::kElement:
        others_.push_back(ArrayOf(output));
        break;
      case FormatKind::kHostOnly:
        plan_.host_only.push_back({output.format, tensor.data, bytes});
        break;
      case FormatKind::kBlocks:
        if (plan_.blocks.empty()) {
          plan_.blocks.push_back(
              {layout_.table(), options_.mask, options_.blocks, {}});
        }
        AddBlockTable(output.format, tensor.data, &plan_.blocks.front());
        break;
      case FormatKind::kDense:
        plan_.dense.push_back({layout_.table(), options_.mask,
                               DenseTensorOf(tensor, options_.dense),
                               options_.dense.empty_rows});
        break;
    }
  }

  FillPlan Take() {
    if (tokens_.empty() && others_.empty()) return std::move(plan_);
    ArraysJob job = {};
    job.context = ContextOf(layout_, options_, sources_);
    job.token_arrays = static_cast<int32_t>(tokens_.size());
    job.all_arrays = static_cast<int32_t>(tokens_.size() + others_.size());
    job.tokens = static_cast<int32_t>(layout_.tokens());
    std::copy(tokens_.begin(), tokens_.end(), job.arrays);
    std::copy(others_.begin(), others_.end(), job.arrays + tokens_.size());
    plan_.arrays.push_back(job);
    plan_.counts_targets &= job.context.labels.data != nullptr;
    return std::move(plan_);
  }

 private:
  static ArrayOutput ArrayOf(const Output& output) {
    const Tensor& tensor = output.tensor;
    const bool lines = tensor.shape.size() > 1;
    return {tensor.data, Elements(tensor.shape), output.format,
            static_cast<int32_t>(DTypeBytes(tensor.dtype)),
            lines ? static_cast<int32_t>(tensor.shape.back()) : 1};
  }

  const BatchLayout& layout_;
  const FormatOptions& options_;
  const Sources& sources_;
  FillPlan plan_;
  std::vector<ArrayOutput> tokens_;
  std::vector<ArrayOutput> others_;
};

// What an output of so many bytes takes of a buffer that several share.
int64_t SpaceOf(int64_t bytes) {
  return (bytes + kOutputAlignment - 1) / kOutputAlignment * kOutputAlignment;
}

// Options that no shape depends on.
absl::Status CheckValues(Format format, const BatchLayout& layout,
                         const FormatOptions& options, const Sources& sources,
                         DType dtype) {
  const int64_t most = dtype == DType::kInt32 ? INT32_MAX : INT64_MAX;
  if (ReadsLabels(format)) {
    absl::Status status =
        CheckEnum(format, "label_shift", options.label_shift, 3);
    if (!status.ok()) return status;
  }
  if (format == Format::kRowCuSeqlens) {
    return CheckEnum(format, "row_fill", options.row_fill, 2);
  }
  if (format == Format::kPositionIds) {
    const int64_t limit = most - layout.max_position();
    if (options.position_start < 0 || options.position_start > limit) {
      return OutOfRange(format, "position_start", options.position_start, 0,
                        limit);
    }
  }
  if (format == Format::kRaggedOffsets) {
    const int64_t limit = most / std::max<int64_t>(layout.tokens(), 1);
    if (options.ragged_stride < 1 || options.ragged_stride > limit) {
      return OutOfRange(format, "ragged_stride", options.ragged_stride, 1,
                        limit);
    }
  }
  const auto check_id = [&](absl::string_view name, int64_t value) {
    if (dtype != DType::kInt32 || (value >= INT32_MIN && value <= INT32_MAX)) {
      return absl::OkStatus();
    }
    return OutOfRange(format, name, value, INT32_MIN, INT32_MAX);
  };
  if (format == Format::kInputIds) {
    if (!sources.tokens.has_value()) {
      return Invalid(format, "it needs the source tokens");
    }
    return check_id("pad_id", options.pad_id);
  }
  if (format == Format::kLabels) {
    if (!sources.labels.has_value() && !sources.tokens.has_value()) {
      return Invalid(format, "it needs the source labels, or tokens");
    }
    return check_id("ignore_id", options.ignore_id);
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view FormatName(Format format) { return InfoOf(format).name; }

absl::optional<Format> FormatFromName(absl::string_view name) {
  for (int i = 0; i < kFormats; ++i) {
    if (kInfos[i].name == name) return static_cast<Format>(i);
  }
  return absl::nullopt;
}

FormatKind KindOf(Format format) { return InfoOf(format).kind; }

bool ReadsSources(Format format) {
  return format == Format::kInputIds || ReadsLabels(format);
}

bool IsSizedBySegments(Format format) {
  switch (format) {
    case Format::kCuSeqlens:
    case Format::kCuSeqlensPadded:
    case Format::kSeqUsed:
    case Format::kRaggedOffsets:
    case Format::kSequenceTokens:
    case Format::kTargets:
      return true;
    default:
      return false;
  }
}

bool IsSizedByRowWidth(Format format) {
  return format == Format::kRowCuSeqlens || format == Format::kDocLens ||
         format == Format::kFirstTokenIndex;
}

bool HasLineForEachRow(Format format) {
  return IsSizedByRowWidth(format) || format == Format::kSequencesPerRow ||
         format == Format::kSequenceLengths;
}

absl::StatusOr<FormatShape> ShapeOf(Format format, const BatchLayout& layout,
                                    const FormatOptions& options) {
  if (!IsFormat(format)) {
    return absl::InvalidArgumentError(absl::StrCat("format is number ",
                                                   static_cast<int>(format),
                                                   ", there are ", kFormats));
  }
  if (DependsOnMask(format)) {
    if (absl::Status status = CheckMask(format, options.mask); !status.ok()) {
      return status;
    }
  }
  if (IsOfShares(format)) {
    if (absl::Status status = layout.CheckShares(options.cp_ranks);
        !status.ok()) {
      return Invalid(format, status.message());
    }
  }
  Shape shape = DimensionsOf(format, layout, options);
  if (!shape.ok()) return shape.status();
  const int64_t elements = Elements(*shape);
  if (elements > MostElements(format)) {
    return Invalid(
        format, absl::StrCat("it would have ", elements,
                             " elements, it may have ", MostElements(format)));
  }
  return FormatShape{TypesOf(format), *std::move(shape)};
}

absl::StatusOr<int64_t> RequiredBytes(Format format, const BatchLayout& layout,
                                      const FormatOptions& options) {
  absl::StatusOr<FormatShape> shape = ShapeOf(format, layout, options);
  if (!shape.ok()) return shape.status();
  return Elements(shape->shape) * DTypeBytes(shape->dtypes.front());
}

absl::StatusOr<int64_t> RequiredBytes(absl::Span<const Format> formats,
                                      const BatchLayout& layout,
                                      const FormatOptions& options) {
  int64_t bytes = 0;
  for (const Format format : formats) {
    absl::StatusOr<int64_t> own = RequiredBytes(format, layout, options);
    if (!own.ok()) return own.status();
    if (*own > INT64_MAX - kOutputAlignment - bytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the formats together take more than ", INT64_MAX, " bytes"));
    }
    bytes += SpaceOf(*own);
  }
  return bytes;
}

absl::StatusOr<std::vector<Output>> OutputsIn(absl::Span<const Format> formats,
                                              const BatchLayout& layout,
                                              const FormatOptions& options,
                                              void* buffer, int64_t bytes,
                                              Device device) {
  absl::StatusOr<int64_t> needed = RequiredBytes(formats, layout, options);
  if (!needed.ok()) return needed.status();
  if (bytes < *needed) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the buffer has ", bytes, " bytes, the formats take ", *needed));
  }
  if (buffer == nullptr && *needed > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the buffer is null, the formats take ", *needed, " bytes"));
  }
  if (reinterpret_cast<uintptr_t>(buffer) % kOutputAlignment != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the buffer is not at a multiple of ", kOutputAlignment, " bytes"));
  }
  std::vector<Output> outputs;
  int64_t at = 0;
  for (const Format format : formats) {
    absl::StatusOr<FormatShape> shape = ShapeOf(format, layout, options);
    if (!shape.ok()) return shape.status();
    Tensor tensor;
    tensor.data = static_cast<char*>(buffer) + at;
    tensor.dtype = shape->dtypes.front();
    tensor.shape = std::move(shape->shape);
    tensor.device = device;
    at += SpaceOf(Elements(tensor.shape) * DTypeBytes(tensor.dtype));
    outputs.push_back({format, std::move(tensor)});
  }
  return outputs;
}

absl::StatusOr<FillPlan> PlanFill(Side side, const BatchLayout& layout,
                                  const FormatOptions& options,
                                  const Sources& sources,
                                  absl::Span<const Output> outputs) {
  const int64_t tokens = layout.sequence_tokens();
  bool reads_tokens = false;
  bool reads_labels = false;
  bool seen[kFormats] = {};
  for (const Output& output : outputs) {
    absl::StatusOr<FormatShape> shape = ShapeOf(output.format, layout, options);
    if (!shape.ok()) return shape.status();
    bool& again = seen[static_cast<int>(output.format)];
    if (again) return Invalid(output.format, "it is wanted twice");
    again = true;
    if (absl::Status status = CheckOutput(side, output, *shape); !status.ok()) {
      return status;
    }
    if (absl::Status status = CheckValues(output.format, layout, options,
                                          sources, output.tensor.dtype);
        !status.ok()) {
      return status;
    }
    if (side == Side::kCuda && KindOf(output.format) == kHostOnly) {
      return Invalid(output.format, "it is made on the host only");
    }
    reads_tokens |= output.format == Format::kInputIds;
    reads_labels |= ReadsLabels(output.format);
  }
  if (reads_tokens || (reads_labels && !sources.labels.has_value())) {
    absl::Status status = CheckSource("tokens", side, tokens, sources.tokens);
    if (!status.ok()) return status;
  }
  if (reads_labels) {
    absl::Status status = CheckSource("labels", side, tokens, sources.labels);
    if (!status.ok()) return status;
  }
  Planner planner(layout, options, sources);
  for (const Output& output : outputs) planner.Add(output);
  return planner.Take();
}

absl::StatusOr<EqualityJob> PlanEquality(Side side, const Tensor& ids,
                                         Mask mask, const DenseOptions& options,
                                         const Tensor& output) {
  const Format dense = Format::kDenseMask;
  if (absl::Status status = CheckMask(dense, mask); !status.ok()) return status;
  if (ids.shape.size() != 2 || ids.shape[0] < 1 || ids.shape[1] < 1 ||
      ids.shape[1] > kMaxBatchTokens / ids.shape[0]) {
    return absl::InvalidArgumentError(
        absl::StrCat("ids: their shape is ", ShapeText(ids.shape),
                     ", it must be [rows, row_tokens], together from 1 to ",
                     kMaxBatchTokens, " tokens"));
  }
  const int64_t rows = ids.shape[0];
  const int64_t tokens = ids.shape[1];
  if (ids.dtype != DType::kInt32 && ids.dtype != DType::kInt64) {
    return absl::InvalidArgumentError(
        absl::StrCat("ids: their type is ", DTypeName(ids.dtype),
                     ", it must be int32 or int64"));
  }
  if (ids.pitch != 0 && ids.pitch != tokens) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ids: their pitch is ", ids.pitch, ", they have to be compact"));
  }
  if (absl::Status status = CheckPlace("ids", side, ids); !status.ok()) {
    return status;
  }
  if (rows * tokens > kMaxElements / tokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("ids: a mask of ", rows, " x ", tokens, " x ", tokens,
                     " elements, it may have ", kMaxElements));
  }
  const FormatShape wanted = {TypesOf(dense), {rows, 1, tokens, tokens}};
  if (absl::Status status = CheckOutput(side, {dense, output}, wanted);
      !status.ok()) {
    return status;
  }
  return EqualityJob{ViewOf(ids), static_cast<int32_t>(rows),
                     static_cast<int32_t>(tokens), mask,
                     DenseTensorOf(output, options)};
}

}  // namespace packhouse
