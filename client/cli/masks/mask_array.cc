#include "client/cli/masks/mask_array.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace packhouse {
namespace {

template <typename T>
T Load(const void* memory, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(memory) + i * sizeof(T),
              sizeof(T));
  return value;
}

float FromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// IEEE 754 binary16.
float FromHalfBits(uint16_t bits) {
  constexpr int kInfiniteExponent = 31;
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                              : std::ldexp(static_cast<float>(fraction + 1024),
                                           exponent - 25);
  if (exponent == kInfiniteExponent) value = fraction == 0 ? INFINITY : NAN;
  return bits >> 15 == 0 ? value : -value;
}

// The shortest text that is read as the same number.
std::string FloatText(float value) {
  char text[32];
  const std::to_chars_result end =
      std::to_chars(text, text + sizeof(text), value);
  return {text, end.ptr};
}

}  // namespace

MaskArray::MaskArray(Format format, DType dtype, std::vector<int64_t> shape)
    : format_(format),
      dtype_(dtype),
      shape_(std::move(shape)),
      memory_(static_cast<size_t>(elements() * DTypeBytes(dtype) + 7) / 8) {}

Output MaskArray::output() {
  Tensor tensor;
  tensor.data = memory_.data();
  tensor.dtype = dtype_;
  tensor.shape = shape_;
  return {format_, tensor};
}

std::string MaskArray::Text(int64_t i) const {
  const void* const memory = memory_.data();
  switch (dtype_) {
    case DType::kBool:
    case DType::kUint8:
      return absl::StrCat(Load<uint8_t>(memory, i));
    case DType::kUint16:
      return absl::StrCat(Load<uint16_t>(memory, i));
    case DType::kInt32:
      return absl::StrCat(Load<int32_t>(memory, i));
    case DType::kInt64:
      return absl::StrCat(Load<int64_t>(memory, i));
    case DType::kFloat16:
      return FloatText(FromHalfBits(Load<uint16_t>(memory, i)));
    case DType::kBFloat16:
      return FloatText(FromBits(uint32_t{Load<uint16_t>(memory, i)} << 16));
    case DType::kFloat32:
      return FloatText(Load<float>(memory, i));
  }
  return "";
}

absl::StatusOr<std::vector<MaskArray>> MakeMaskArrays(
    const BatchLayout& layout, const FormatOptions& options,
    const Sources& sources, absl::Span<const Format> formats,
    absl::optional<DType> dtype) {
  std::vector<FormatShape> shapes;
  int64_t elements = 0;
  for (const Format format : formats) {
    absl::StatusOr<FormatShape> shape = ShapeOf(format, layout, options);
    if (!shape.ok()) return shape.status();
    const int64_t more = Elements(shape->shape);
    if (more > kMaxPrintedElements - elements) {
      return absl::InvalidArgumentError(absl::StrCat(
          FormatName(format), " has ", more, " elements, ", elements,
          " are printed before, together they may be ", kMaxPrintedElements));
    }
    elements += more;
    shapes.push_back(*std::move(shape));
  }
  std::vector<MaskArray> arrays;
  std::vector<Output> outputs;
  for (size_t i = 0; i < formats.size(); ++i) {
    arrays.emplace_back(formats[i], dtype.value_or(shapes[i].dtypes.front()),
                        std::move(shapes[i].shape));
    outputs.push_back(arrays.back().output());
  }
  absl::Status status = Fill(layout, options, sources, outputs);
  if (!status.ok()) return status;
  return arrays;
}

}  // namespace packhouse
