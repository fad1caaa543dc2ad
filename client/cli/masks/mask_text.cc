#include "client/cli/masks/mask_text.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace packhouse {
namespace {

constexpr int64_t kColumns = 80;

struct Scalar {
  const char* name;
  int64_t value;
};

std::vector<Scalar> Scalars(const BatchLayout& layout) {
  return {{"rows", layout.rows()},
          {"row_tokens", layout.row_tokens()},
          {"tokens", layout.tokens()},
          {"packs", layout.packs()},
          {"sequences", layout.sequences()},
          {"sequence_tokens", layout.sequence_tokens()},
          {"max_sequence", layout.max_sequence()},
          {"min_sequence", layout.min_sequence()},
          {"segments", layout.segments()},
          {"attended_tokens", layout.attended_tokens()},
          {"max_segment", layout.max_segment()},
          {"min_segment", layout.min_segment()},
          {"max_slot", layout.max_slot()},
          {"max_row_sequences", layout.max_row_sequences()},
          {"max_row_segments", layout.max_row_segments()},
          {"max_position", layout.max_position()}};
}

// Where line `line` of the last dimension stands: "[1, 0]".
std::string PlaceText(const std::vector<int64_t>& shape, int64_t line) {
  std::vector<int64_t> place(shape.size() - 1);
  for (size_t d = place.size(); d-- > 0;) {
    place[d] = line % shape[d];
    line /= shape[d];
  }
  return ShapeText(place);
}

void PrintTable(const MaskArray& array, std::ostream& out) {
  const std::vector<int64_t>& shape = array.shape();
  out << "\n"
      << FormatName(array.format()) << "  " << DTypeName(array.dtype()) << " "
      << ShapeText(shape) << "\n";
  const int64_t elements = array.elements();
  if (elements == 0) return;
  int64_t width = 1;
  for (int64_t i = 0; i < elements; ++i) {
    width = std::max<int64_t>(width, array.Text(i).size());
  }
  const int64_t across = shape.back();
  const int64_t lines = elements / across;
  // "[1, 0]" in front of a line, and of what it is continued with spaces.
  const int64_t margin =
      2 + (shape.size() == 1
               ? 0
               : static_cast<int64_t>(PlaceText(shape, lines - 1).size()));
  const int64_t per_line =
      std::max<int64_t>(1, (kColumns - margin) / (width + 1));
  for (int64_t line = 0; line < lines; ++line) {
    for (int64_t first = 0; first < across; first += per_line) {
      const bool named = shape.size() > 1 && first == 0;
      out << absl::StrFormat("%*s", margin,
                             named ? PlaceText(shape, line) : "");
      const int64_t end = std::min(across, first + per_line);
      for (int64_t i = first; i < end; ++i) {
        out << absl::StrFormat(" %*s", width, array.Text(line * across + i));
      }
      out << "\n";
    }
  }
}

// Value i of an array. JSON has no infinity: it is a string.
void PrintJsonValue(const MaskArray& array, int64_t i, std::ostream& out) {
  const std::string text = array.Text(i);
  if (array.dtype() == DType::kBool) {
    out << (text == "0" ? "false" : "true");
  } else if (text == "-inf") {
    out << "\"-inf\"";
  } else {
    out << text;
  }
}

// The values below place `first`, lists of lists from dimension `d` on.
void PrintJsonValues(const MaskArray& array, size_t d, int64_t first,
                     std::ostream& out) {
  if (d == array.shape().size()) return PrintJsonValue(array, first, out);
  int64_t below = 1;
  for (size_t i = d + 1; i < array.shape().size(); ++i) {
    below *= array.shape()[i];
  }
  out << "[";
  for (int64_t i = 0; i < array.shape()[d]; ++i) {
    if (i > 0) out << ",";
    PrintJsonValues(array, d + 1, first + i * below, out);
  }
  out << "]";
}

nlohmann::ordered_json HeadJson(const MasksQuery& query,
                                const BatchLayout& layout) {
  nlohmann::ordered_json json;
  json["capacity"] = query.layout.row_tokens;
  json["pad_mode"] = PadModeName(query.layout.pad_mode);
  json["alignment"] = query.layout.alignment;
  json["flat"] = query.layout.flat;
  json["mask"] = kMaskNames[static_cast<int>(query.options.mask.kind)];
  json["window"] = nullptr;
  if (query.window_given) json["window"] = query.options.mask.window;
  for (const Scalar& scalar : Scalars(layout)) json[scalar.name] = scalar.value;
  return json;
}

}  // namespace

void PrintText(const BatchLayout& layout, const std::vector<MaskArray>& arrays,
               std::ostream& out) {
  // Two to a line; their number is even.
  const std::vector<Scalar> scalars = Scalars(layout);
  for (size_t i = 0; i < scalars.size(); i += 2) {
    out << absl::StrFormat("%-18s %10d    %-18s %10d\n", scalars[i].name,
                           scalars[i].value, scalars[i + 1].name,
                           scalars[i + 1].value);
  }
  for (const MaskArray& array : arrays) PrintTable(array, out);
}

void PrintJson(const MasksQuery& query, const BatchLayout& layout,
               const std::vector<MaskArray>& arrays, std::ostream& out) {
  // Values are written one by one: as JSON objects in memory they would take
  // many times their bytes.
  std::string head = HeadJson(query, layout).dump();
  head.pop_back();
  out << head << ",\"formats\":{";
  for (size_t i = 0; i < arrays.size(); ++i) {
    const MaskArray& array = arrays[i];
    out << (i > 0 ? "," : "") << "\"" << FormatName(array.format())
        << "\":{\"dtype\":\"" << DTypeName(array.dtype())
        << "\",\"shape\":" << nlohmann::json(array.shape()).dump()
        << ",\"values\":";
    PrintJsonValues(array, 0, 0, out);
    out << "}";
  }
  out << "}}\n";
}

}  // namespace packhouse
