#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "packhouse/batch_layout.h"
#include "packhouse/cuda.h"
#include "packhouse/fill.h"
#include "src/arrays.h"
#include "src/dlpack.h"
#include "src/module.h"
#include "src/names.h"
#include "src/status.h"

namespace nb = nanobind;

namespace packhouse {
namespace {

PadMode PadModeNamed(const std::string& name) {
  const absl::optional<PadMode> mode = PadModeFromName(name);
  if (mode.has_value()) return *mode;
  Throw(absl::InvalidArgumentError(
      absl::StrCat("pad_mode is '", name,
                   "', it must be one of: segment, trim, masked, singletons, "
                   "merge_last, slots")));
}

BatchLayout MakeLayout(int64_t row_tokens, const ArrayIn<uint32_t>& lengths,
                       const ArrayIn<uint64_t>& offsets,
                       const std::optional<ArrayIn<uint32_t>>& origins,
                       const std::string& pad_mode, int64_t alignment,
                       int64_t trim_multiple, bool flat) {
  LayoutSpec spec;
  spec.row_tokens = row_tokens;
  spec.pad_mode = PadModeNamed(pad_mode);
  spec.alignment = alignment;
  spec.trim_multiple = trim_multiple;
  spec.flat = flat;
  return ValueOrThrow(BatchLayout::Make(
      spec, SpanOf(lengths), SpanOf(offsets),
      origins.has_value() ? SpanOf(*origins) : absl::Span<const uint32_t>()));
}

// Where each sequence begins among the tokens of the batch.
ArrayOut<int64_t> SequenceBegins(const BatchLayout& layout) {
  std::vector<int64_t> begins;
  const SegmentTable table = layout.table();
  for (int32_t s = 0; s < table.count; ++s) {
    if (table.segments[s].is_sequence()) {
      begins.push_back(table.segments[s].begin);
    }
  }
  return ArrayOf(std::move(begins));
}

Format FormatNamed(const std::string& name) {
  const absl::optional<Format> format = FormatFromName(name);
  if (format.has_value()) return *format;
  Throw(absl::InvalidArgumentError(
      absl::StrCat("there is no format '", name,
                   "': packhouse.masks.FORMATS names them all")));
}

template <typename T>
void Set(const std::string& name, nb::handle value, T* field) {
  if (nb::try_cast<T>(value, *field)) return;
  throw nb::type_error(absl::StrCat(name, " is ",
                                    nb::cast<std::string>(nb::repr(value)),
                                    ", it must be of another type")
                           .c_str());
}

template <typename Enum, size_t kCount>
void SetNamed(const std::string& name, nb::handle value,
              const char* const (&names)[kCount], Enum* field) {
  std::string text;
  Set(name, value, &text);
  *field = ValueNamed<Enum>(name, text, names);
}

void SetOption(const std::string& name, nb::handle value,
               FormatOptions* options) {
  if (name == "mask") {
    SetNamed(name, value, kMaskNames, &options->mask.kind);
  } else if (name == "window") {
    Set(name, value, &options->mask.window);
  } else if (name == "label_shift") {
    SetNamed(name, value, kLabelShiftNames, &options->label_shift);
  } else if (name == "pad_id") {
    Set(name, value, &options->pad_id);
  } else if (name == "ignore_id") {
    Set(name, value, &options->ignore_id);
  } else if (name == "source_ignore_id") {
    Set(name, value, &options->source_ignore_id);
  } else if (name == "position_start") {
    Set(name, value, &options->position_start);
  } else if (name == "block_size") {
    std::tuple<int32_t, int32_t> sides;
    Set(name, value, &sides);
    options->blocks.q = std::get<0>(sides);
    options->blocks.kv = std::get<1>(sides);
  } else if (name == "edge_full") {
    Set(name, value, &options->blocks.edge_full);
  } else if (name == "dq_kv_order") {
    Set(name, value, &options->dq_kv_order);
  } else if (name == "true_attends") {
    Set(name, value, &options->dense.true_attends);
  } else if (name == "minus_infinity") {
    Set(name, value, &options->dense.minus_infinity);
  } else if (name == "empty_rows") {
    Set(name, value, &options->dense.empty_rows);
  } else if (name == "cp_ranks") {
    Set(name, value, &options->cp_ranks);
  } else if (name == "chunk_tokens") {
    Set(name, value, &options->chunk_tokens);
  } else if (name == "ragged_stride") {
    Set(name, value, &options->ragged_stride);
  } else if (name == "max_segments") {
    Set(name, value, &options->max_segments);
  } else if (name == "row_width") {
    Set(name, value, &options->row_width);
  } else if (name == "row_fill") {
    SetNamed(name, value, kRowFillNames, &options->row_fill);
  } else {
    throw nb::type_error(absl::StrCat("there is no option '", name,
                                      "': packhouse.masks.Options has them all")
                             .c_str());
  }
}

FormatOptions OptionsOf(const nb::dict& given) {
  FormatOptions options;
  for (const auto& [name, value] : given) {
    SetOption(nb::cast<std::string>(name), value, &options);
  }
  const Mask mask = options.mask;
  if (given.contains("window") != HasWindow(mask)) {
    Throw(absl::InvalidArgumentError(
        absl::StrCat("mask ", kMaskNames[static_cast<int>(mask.kind)],
                     HasWindow(mask) ? " needs a window" : " has no window")));
  }
  return options;
}

// (element types, the usual one first; shape).
std::pair<std::vector<std::string>, std::vector<int64_t>> ShapeFor(
    const std::string& name, const BatchLayout& layout,
    const nb::dict& options) {
  FormatShape shape =
      ValueOrThrow(ShapeOf(FormatNamed(name), layout, OptionsOf(options)));
  std::vector<std::string> dtypes;
  for (const DType dtype : shape.dtypes) dtypes.emplace_back(DTypeName(dtype));
  return {std::move(dtypes), std::move(shape.shape)};
}

// Sources and outputs of one call, and what keeps their memory.
class Request {
 public:
  explicit Request(uintptr_t stream) : stream_(stream) {}

  Tensor Take(const char* name, nb::handle object) {
    kept_.push_back(TensorFromPython(name, object, stream_));
    return kept_.back().tensor;
  }

  bool on_cuda() const {
    for (const SharedTensor& shared : kept_) {
      if (!shared.tensor.device.on_host()) return true;
    }
    return false;
  }

 private:
  uintptr_t stream_;
  std::vector<SharedTensor> kept_;
};

void FillFormats(const BatchLayout& layout, const nb::dict& options,
                 const nb::object& tokens, const nb::object& labels,
                 const nb::dict& outputs, int threads, uintptr_t stream) {
  const FormatOptions format_options = OptionsOf(options);
  Request request(stream);
  Sources sources;
  if (!tokens.is_none()) sources.tokens = request.Take("tokens", tokens);
  if (!labels.is_none()) sources.labels = request.Take("labels", labels);
  std::vector<Output> wanted;
  for (const auto& [key, tensor] : outputs) {
    const std::string name = nb::cast<std::string>(key);
    wanted.push_back({FormatNamed(name), request.Take(name.c_str(), tensor)});
  }
  absl::Status status;
  {
    nb::gil_scoped_release release;
    status = request.on_cuda()
                 ? FillOnCuda(layout, format_options, sources, wanted, {},
                              reinterpret_cast<CudaStream>(stream))
                 : Fill(layout, format_options, sources, wanted, threads);
  }
  ThrowUnlessOk(status);
}

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (int i = 0; i < kFormats; ++i) {
    names.emplace_back(FormatName(static_cast<Format>(i)));
  }
  return names;
}

}  // namespace

void AddMasks(nb::module_& module) {
  nb::class_<BatchLayout>(module, "Layout")
      .def(
          "__init__",
          [](BatchLayout* at, int64_t row_tokens,
             const ArrayIn<uint32_t>& lengths, const ArrayIn<uint64_t>& offsets,
             const std::optional<ArrayIn<uint32_t>>& origins,
             const std::string& pad_mode, int64_t alignment,
             int64_t trim_multiple, bool flat) {
            new (at) BatchLayout(MakeLayout(row_tokens, lengths, offsets,
                                            origins, pad_mode, alignment,
                                            trim_multiple, flat));
          },
          nb::arg("row_tokens"), nb::arg("lengths"), nb::arg("offsets"),
          nb::arg("origins").none(), nb::arg("pad_mode"), nb::arg("alignment"),
          nb::arg("trim_multiple"), nb::arg("flat"))
      .def_prop_ro("rows", &BatchLayout::rows)
      .def_prop_ro("row_tokens", &BatchLayout::row_tokens)
      .def_prop_ro("tokens", &BatchLayout::tokens)
      .def_prop_ro("packs", &BatchLayout::packs)
      .def_prop_ro("sequences", &BatchLayout::sequences)
      .def_prop_ro("sequence_tokens", &BatchLayout::sequence_tokens)
      .def_prop_ro("max_sequence", &BatchLayout::max_sequence)
      .def_prop_ro("segments", &BatchLayout::segments)
      .def_prop_ro("attended_tokens", &BatchLayout::attended_tokens)
      .def_prop_ro("max_segment", &BatchLayout::max_segment)
      .def_prop_ro("max_slot", &BatchLayout::max_slot)
      .def_prop_ro("max_position", &BatchLayout::max_position)
      .def("sequence_begins", &SequenceBegins);
  module.def("format_names", &FormatNames);
  module.def("shape_of", &ShapeFor, nb::arg("name"), nb::arg("layout"),
             nb::arg("options"));
  module.def("fill", &FillFormats, nb::arg("layout"), nb::arg("options"),
             nb::arg("tokens").none(), nb::arg("labels").none(),
             nb::arg("outputs"), nb::arg("threads"), nb::arg("stream"));
}

}  // namespace packhouse
