#include "client/cli/length_file.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/error_text.h"
#include "client/cli/line_reader.h"
#include "client/cli/npy_file.h"
#include "nlohmann/json.hpp"

namespace packhouse {
namespace {

constexpr uint64_t kMaxLength = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMaxCount = std::numeric_limits<int64_t>::max();

absl::Status NotWholeError(absl::string_view text) {
  absl::string_view digits = text;
  const bool negative = absl::ConsumePrefix(&digits, "-");
  if (negative && !digits.empty() &&
      std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), " is negative"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(text), " is not a whole number"));
}

// Takes the next line that is not blank, without the spaces around it.
bool NextText(LineReader& lines, absl::string_view* text) {
  while (lines.Next(text)) {
    *text = absl::StripAsciiWhitespace(*text);
    if (!text->empty()) return true;
  }
  return false;
}

absl::StatusOr<LengthList> ReadTextList(LineReader lines) {
  LengthList lengths;
  absl::string_view text;
  while (NextText(lines, &text)) {
    absl::StatusOr<uint64_t> length = ParseWholeNumber(text, kMaxLength);
    if (!length.ok()) return lines.LineError(length.status().message());
    lengths.push_back(static_cast<uint32_t>(*length));
  }
  if (!lines.status().ok()) return lines.status();
  return lengths;
}

// The length in `field` of the JSON object `text`.
absl::StatusOr<uint32_t> ParseRecord(absl::string_view text,
                                     const std::string& field) {
  using nlohmann::json;
  // A JSON value keeps the last of equal keys, so they are counted on the way.
  int found = 0;
  const auto count = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::key && depth == 1 && parsed == field) {
      ++found;
    }
    return true;
  };
  const json record = json::parse(text.begin(), text.end(), count,
                                  /*allow_exceptions=*/false);
  if (!record.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), " is not a JSON object"));
  }
  const auto value = record.find(field);
  if (value == record.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has no field ", Quoted(field)));
  }
  if (found > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("has a second field ", Quoted(field)));
  }
  if (!value->is_number()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "field ", Quoted(field), " is ", value->type_name(), ", not a number"));
  }
  // What JSON cannot hold as an integer (1.5, 1e3, 2^64) is a float by now.
  absl::StatusOr<uint64_t> length = ParseWholeNumber(value->dump(), kMaxLength);
  if (!length.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("field ", Quoted(field), ": ", length.status().message()));
  }
  return static_cast<uint32_t>(*length);
}

absl::StatusOr<LengthList> ReadJsonLines(LineReader lines,
                                         const std::string& field) {
  LengthList lengths;
  absl::string_view text;
  while (NextText(lines, &text)) {
    absl::StatusOr<uint32_t> length = ParseRecord(text, field);
    if (!length.ok()) return lines.LineError(length.status().message());
    lengths.push_back(*length);
  }
  if (!lines.status().ok()) return lines.status();
  return lengths;
}

absl::StatusOr<LengthCount> ParseRow(absl::string_view text) {
  const size_t comma = std::min(text.find(','), text.size());
  if (comma == text.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), " is not length,count"));
  }
  absl::StatusOr<uint64_t> length = ParseWholeNumber(
      absl::StripTrailingAsciiWhitespace(text.substr(0, comma)), kMaxLength);
  if (!length.ok()) return length.status();
  absl::StatusOr<uint64_t> count = ParseWholeNumber(
      absl::StripLeadingAsciiWhitespace(text.substr(comma + 1)), kMaxCount);
  if (!count.ok()) return count.status();
  LengthCount row;
  row.length = static_cast<uint32_t>(*length);
  row.count = *count;
  return row;
}

absl::StatusOr<LengthHistogram> ReadHistogram(LineReader lines) {
  LengthHistogram rows;
  absl::string_view text;
  if (NextText(lines, &text) && text != "length,count") {
    return lines.LineError(absl::StrCat(
        Quoted(text), " is not the header of a histogram, length,count"));
  }
  while (NextText(lines, &text)) {
    absl::StatusOr<LengthCount> row = ParseRow(text);
    if (!row.ok()) return lines.LineError(row.status().message());
    if (row->count > 0) rows.push_back(*row);
  }
  if (!lines.status().ok()) return lines.status();
  return rows;
}

// `input` unless it is empty, in the one type of all formats.
template <typename Input>
absl::StatusOr<LengthInput> NotEmpty(const std::string& name,
                                     absl::StatusOr<Input> input) {
  if (!input.ok()) return input.status();
  if (input->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": holds no sequence"));
  }
  return LengthInput(*std::move(input));
}

}  // namespace

absl::StatusOr<uint64_t> ParseWholeNumber(absl::string_view text,
                                          uint64_t max) {
  uint64_t value = 0;
  bool over = false;
  for (const char c : text) {
    const unsigned digit = static_cast<unsigned>(c) - '0';
    if (digit > 9) return NotWholeError(text);
    over = over || value > (max - digit) / 10;
    value = 10 * value + digit;
  }
  if (text.empty()) return NotWholeError(text);
  if (over) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), " is over the limit of ", max));
  }
  return value;
}

absl::StatusOr<LengthInput> ReadLengths(const std::string& path,
                                        const std::string& field) {
  absl::string_view stem = path;
  absl::ConsumeSuffix(&stem, ".gz");
  const bool npy = absl::EndsWith(stem, ".npy");
  const bool histogram = absl::EndsWith(stem, ".hist.csv");
  if (!field.empty() && (npy || histogram)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a field is read from JSON Lines only"));
  }
  if (field.empty() && absl::EndsWith(stem, ".jsonl")) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": JSON Lines need --field NAME, the key of the length"));
  }
  absl::StatusOr<ByteSource> source = ByteSource::Open(path);
  if (!source.ok()) return source.status();
  const std::string name = source->name();
  if (npy) return NotEmpty(name, ReadNpy(*std::move(source)));
  LineReader lines(*std::move(source));
  if (histogram) return NotEmpty(name, ReadHistogram(std::move(lines)));
  if (!field.empty()) {
    return NotEmpty(name, ReadJsonLines(std::move(lines), field));
  }
  return NotEmpty(name, ReadTextList(std::move(lines)));
}

}  // namespace packhouse
