#include "client/cli/npy_file.h"

#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "client/cli/error_text.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "The items of a file are read as they lie in memory."
#endif

namespace packhouse {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMaxHeaderBytes = size_t{1} << 16;
constexpr size_t kBlockItems = size_t{1} << 16;

// The text behind `key` and its colon in the header, a Python dict in the
// spelling that NumPy writes: {'descr': '<i8', 'fortran_order': False, ...}.
absl::optional<absl::string_view> ValueOf(absl::string_view header,
                                          absl::string_view key) {
  const std::string quoted = absl::StrCat("'", key, "'");
  const size_t at = header.find(quoted);
  if (at == absl::string_view::npos) return absl::nullopt;
  absl::string_view rest =
      absl::StripLeadingAsciiWhitespace(header.substr(at + quoted.size()));
  if (!absl::ConsumePrefix(&rest, ":")) return absl::nullopt;
  return absl::StripLeadingAsciiWhitespace(rest);
}

// The text between `open` at the front of `value` and the next `close`.
absl::optional<absl::string_view> Enclosed(
    absl::optional<absl::string_view> value, char open, char close) {
  if (!value.has_value() || value->empty() || value->front() != open) {
    return absl::nullopt;
  }
  const size_t end = value->find(close, 1);
  if (end == absl::string_view::npos) return absl::nullopt;
  return value->substr(1, end - 1);
}

struct Header {
  std::string type;  // such as <i8
  uint64_t items = 0;
};

absl::StatusOr<std::string> ReadHeaderText(ByteSource& source) {
  char start[8] = {};
  absl::StatusOr<size_t> got = source.Read(start, sizeof start);
  if (!got.ok()) return got.status();
  if (*got < sizeof start || !absl::StartsWith({start, sizeof start}, kMagic)) {
    return source.Error("is not a .npy file");
  }
  const size_t size_bytes = start[6] == 1 ? 2 : 4;
  unsigned char size_text[4] = {};
  got = source.Read(reinterpret_cast<char*>(size_text), size_bytes);
  if (!got.ok()) return got.status();
  uint32_t size = 0;
  std::memcpy(&size, size_text, sizeof size);
  if (size > kMaxHeaderBytes) {
    return source.Error(absl::StrCat("a header of ", size, " bytes; at most ",
                                     kMaxHeaderBytes, " are read"));
  }
  std::string text(size, '\0');
  got = source.Read(&text[0], size);
  if (!got.ok()) return got.status();
  if (*got < size) return source.Error("ends inside its header");
  return text;
}

absl::StatusOr<Header> ReadHeader(ByteSource& source) {
  absl::StatusOr<std::string> text = ReadHeaderText(source);
  if (!text.ok()) return text.status();
  const auto type = Enclosed(ValueOf(*text, "descr"), '\'', '\'');
  const auto shape = Enclosed(ValueOf(*text, "shape"), '(', ')');
  if (!type.has_value() || !shape.has_value()) {
    return source.Error(absl::StrCat(
        "needs an array of integers; its header is ", Quoted(*text)));
  }
  Header header;
  header.type = absl::StrCat(*type);
  absl::string_view items = *shape;
  if (!absl::ConsumeSuffix(&items, ",") ||
      !absl::SimpleAtoi(items, &header.items)) {
    return source.Error(
        absl::StrCat("has shape (", *shape, "); one dimension is needed"));
  }
  return header;
}

template <typename Item>
bool IsLength(Item item) {
  return item >= 0 &&
         static_cast<uint64_t>(item) <= std::numeric_limits<uint32_t>::max();
}

template <typename Item>
absl::StatusOr<std::vector<uint32_t>> ReadItems(ByteSource& source,
                                                uint64_t items) {
  std::vector<uint32_t> lengths;
  std::vector<Item> block(kBlockItems);
  for (;;) {
    absl::StatusOr<size_t> got = source.Read(
        reinterpret_cast<char*>(block.data()), block.size() * sizeof(Item));
    if (!got.ok()) return got.status();
    const size_t whole = *got / sizeof(Item);
    const uint64_t left = items - lengths.size();
    if (whole > left || (whole == left && *got % sizeof(Item) != 0)) {
      return source.Error(absl::StrCat("has extra bytes behind the ", items,
                                       " items that its header says"));
    }
    for (const Item item : absl::MakeConstSpan(block).first(whole)) {
      if (!IsLength(item)) {
        return source.Error(absl::StrCat("item ", lengths.size(), " is ", +item,
                                         "; a length is 0 to ",
                                         std::numeric_limits<uint32_t>::max()));
      }
      lengths.push_back(static_cast<uint32_t>(item));
    }
    if (*got == block.size() * sizeof(Item)) continue;
    if (lengths.size() == items) return lengths;
    return source.Error(absl::StrCat("holds ", lengths.size(),
                                     " items; its header says ", items));
  }
}

}  // namespace

absl::StatusOr<std::vector<uint32_t>> ReadNpy(ByteSource source) {
  absl::StatusOr<Header> header = ReadHeader(source);
  if (!header.ok()) return header.status();
  const std::string& type = header->type;
  const uint64_t items = header->items;
  if (type == "|i1") return ReadItems<int8_t>(source, items);
  if (type == "|u1") return ReadItems<uint8_t>(source, items);
  if (type == "<i2") return ReadItems<int16_t>(source, items);
  if (type == "<u2") return ReadItems<uint16_t>(source, items);
  if (type == "<i4") return ReadItems<int32_t>(source, items);
  if (type == "<u4") return ReadItems<uint32_t>(source, items);
  if (type == "<i8") return ReadItems<int64_t>(source, items);
  if (type == "<u8") return ReadItems<uint64_t>(source, items);
  return source.Error(absl::StrCat(
      "has items of type ", Quoted(type),
      "; little-endian integers are needed, such as \"<u4\" or \"<i8\""));
}

}  // namespace packhouse
