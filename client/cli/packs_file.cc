#include "client/cli/packs_file.h"

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "client/cli/error_text.h"
#include "client/cli/line_reader.h"
#include "nlohmann/json.hpp"
#include "packhouse/policy.h"

namespace packhouse {
namespace {

constexpr uint64_t kMaxLength = std::numeric_limits<uint32_t>::max();

// Each length as often as it is there, separated by commas. A pack can hold
// more than memory would: what is written is never in one piece.
void WriteRuns(absl::Span<const LengthCount> runs, TextWriter* writer) {
  absl::string_view separator = "";
  for (const LengthCount& run : runs) {
    for (uint64_t i = 0; i < run.count && writer->ok(); ++i) {
      writer->Text(separator);
      writer->Number(run.length);
      separator = ",";
    }
  }
}

// Writes the packs of a stream.
class PackWriter {
 public:
  PackWriter(const PackSpec& spec, absl::Span<const uint32_t> lengths,
             const Packs& packs, TextWriter* writer)
      : lengths_(lengths),
        packs_(packs),
        tokens_(PackedTokens(spec, lengths, 0, packs)),
        writer_(*writer) {}

  // One pack, up to where further keys may follow.
  void Write(size_t pack) {
    begin_ = packs_.offsets[pack];
    end_ = packs_.offsets[pack + 1];
    Column("{\"ordinals\":[", [&](uint64_t i) { return packs_.ordinals[i]; });
    Column(",\"lengths\":[", [&](uint64_t i) { return tokens_[i]; });
    if (HasParts()) {
      Column(",\"source_offsets\":[",
             [&](uint64_t i) { return packs_.source_offset(i); });
    }
  }

 private:
  // True if a sequence of the pack is not whole.
  bool HasParts() const {
    for (uint64_t i = begin_; i < end_; ++i) {
      if (tokens_[i] != lengths_[packs_.ordinals[i]]) return true;
    }
    return false;
  }

  template <typename Function>
  void Column(absl::string_view head, const Function& number) {
    writer_.Text(head);
    for (uint64_t i = begin_; i < end_; ++i) {
      if (i > begin_) writer_.Text(",");
      writer_.Number(number(i));
    }
    writer_.Text("]");
  }

  const absl::Span<const uint32_t> lengths_;
  const Packs& packs_;
  const std::vector<uint32_t> tokens_;
  TextWriter& writer_;
  uint64_t begin_ = 0;  // entries of the pack
  uint64_t end_ = 0;
};

// Takes one line of PACKS apart. The events come from nlohmann's parser, so
// that a line of any size needs no tree of values.
class LineParser : public nlohmann::json_sax<nlohmann::json> {
 public:
  struct Line {
    std::vector<uint64_t> ordinals;
    std::vector<uint32_t> lengths;
    std::vector<uint32_t> source_offsets;
    absl::optional<uint64_t> stream;

    bool has_source_offsets = false;
  };

  // Empty if `text` was a line of PACKS, and then line() is what it says;
  // otherwise what is wrong.
  std::string Parse(absl::string_view text) {
    line_.ordinals.clear();
    line_.lengths.clear();
    line_.source_offsets.clear();
    line_.stream.reset();
    error_.clear();
    depth_ = 0;
    keys_ = 0;
    key_ = kNone;
    if (nlohmann::json::sax_parse(text.begin(), text.end(), this) &&
        (keys_ & kRequiredKeys) != kRequiredKeys) {
      error_ = "\"ordinals\" and \"lengths\" are needed";
    }
    line_.has_source_offsets = (keys_ & kSourceOffsets) != 0;
    return error_;
  }

  const Line& line() const { return line_; }

  bool start_object(size_t) override {
    return ++depth_ == 1 || Fail("an object inside a pack");
  }
  bool end_object() override { return true; }

  bool key(std::string& name) override {
    key_ = KeyOf(name);
    if (key_ == kNone) return Fail(UnknownKeyText(name));
    if (keys_ & key_) return Fail(absl::StrCat("a second ", Quoted(name)));
    keys_ |= key_;
    return true;
  }

  bool start_array(size_t) override {
    const bool expected = depth_ == 1 && (key_ & kColumns);
    ++depth_;
    return expected || Fail("an array where none belongs");
  }
  bool end_array() override {
    --depth_;
    return true;
  }

  bool number_unsigned(uint64_t number) override {
    if (depth_ == 2 && key_ == kOrdinals) {
      line_.ordinals.push_back(number);
    } else if (depth_ == 2 && key_ == kLengths) {
      return Push(number, &line_.lengths);
    } else if (depth_ == 2 && key_ == kSourceOffsets) {
      return Push(number, &line_.source_offsets);
    } else if (depth_ == 1 && key_ == kStream) {
      line_.stream = number;
    } else {
      return Fail(absl::StrCat("a number where none belongs: ", number));
    }
    return true;
  }

  bool number_integer(int64_t number) override {
    return Fail(absl::StrCat(number, " is negative"));
  }
  bool number_float(double, const std::string& text) override {
    return Fail(absl::StrCat(Quoted(text), " is not a whole number"));
  }
  bool null() override { return Fail("a null where none belongs"); }
  bool boolean(bool) override { return Fail("a boolean where none belongs"); }
  bool string(std::string&) override {
    return Fail("a string where none belongs");
  }
  bool binary(nlohmann::json::binary_t&) override {
    return Fail("binary where none belongs");
  }
  bool parse_error(size_t, const std::string& token,
                   const nlohmann::json::exception&) override {
    return Fail(absl::StrCat("is not JSON at ", Quoted(token)));
  }

 private:
  enum Key : unsigned {
    kNone = 0,
    kOrdinals = 1,
    kLengths = 2,
    kStream = 4,
    kSourceOffsets = 8,
    kRequiredKeys = kOrdinals | kLengths,
    kColumns = kRequiredKeys | kSourceOffsets
  };

  static Key KeyOf(absl::string_view name) {
    if (name == "ordinals") return kOrdinals;
    if (name == "lengths") return kLengths;
    if (name == "source_offsets") return kSourceOffsets;
    if (name == "stream") return kStream;
    return kNone;
  }

  static std::string UnknownKeyText(absl::string_view name) {
    if (name == "count") {
      return "\"count\": the packs of a histogram name no sequences that could "
             "be verified";
    }
    return absl::StrCat("unknown key ", Quoted(name));
  }

  bool Push(uint64_t number, std::vector<uint32_t>* column) {
    if (number > kMaxLength) {
      return Fail(absl::StrCat(key_ == kLengths ? "length " : "source offset ",
                               number, " is over the limit of ", kMaxLength));
    }
    column->push_back(static_cast<uint32_t>(number));
    return true;
  }

  bool Fail(std::string error) {
    error_ = std::move(error);
    return false;
  }

  Line line_;
  std::string error_;
  int depth_ = 0;
  unsigned keys_ = 0;  // seen in this line
  Key key_ = kNone;    // the last one
};

// Whether `line` goes with the others of a file of `streams` streams, in two
// halves: is it of this format, and does what it says hold.
absl::Status CheckFormat(const LineReader& lines, const LineParser::Line& line,
                         uint64_t streams) {
  if (streams == 1 && line.stream.has_value()) {
    return lines.LineError(
        "has a \"stream\"; say with --streams how many there are");
  }
  if (streams > 1 && !line.stream.has_value()) {
    return lines.LineError(
        absl::StrCat("has no \"stream\", but --streams is ", streams));
  }
  return absl::OkStatus();
}

absl::Status CheckContent(const LineReader& lines, const LineParser::Line& line,
                          uint64_t streams) {
  std::string violation;
  if (line.stream.value_or(0) >= streams) {
    violation = absl::StrCat("stream ", *line.stream, " is not one of 0 to ",
                             streams - 1);
  } else if (line.ordinals.size() != line.lengths.size()) {
    violation = absl::StrCat("holds ", line.ordinals.size(), " ordinals and ",
                             line.lengths.size(), " lengths");
  } else if (line.has_source_offsets &&
             line.ordinals.size() != line.source_offsets.size()) {
    violation = absl::StrCat("holds ", line.ordinals.size(), " ordinals and ",
                             line.source_offsets.size(), " source offsets");
  }
  if (violation.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(lines.LineError(violation).message());
}

}  // namespace

void WritePacks(const PackSpec& spec,
                absl::Span<const std::vector<uint32_t>> lists,
                absl::Span<const Packs> packs, TextWriter* writer) {
  for (size_t stream = 0; stream < packs.size(); ++stream) {
    PackWriter pack_writer(spec, lists[stream], packs[stream], writer);
    for (size_t i = 0; i < packs[stream].size(); ++i) {
      pack_writer.Write(i);
      if (packs.size() > 1) {
        writer->Text(",\"stream\":");
        writer->Number(stream);
      }
      writer->Text("}\n");
    }
  }
}

void WriteHistogramPacks(const HistogramPlan& plan, TextWriter* writer) {
  for (const HistogramPlan::Group& group : plan.groups) {
    writer->Text("{\"lengths\":[");
    WriteRuns(group.lengths, writer);
    writer->Text("],\"count\":");
    writer->Number(group.count);
    writer->Text("}\n");
  }
}

absl::StatusOr<std::vector<PackLines>> ReadPacks(const std::string& path,
                                                 uint64_t streams) {
  absl::StatusOr<ByteSource> source = ByteSource::Open(path);
  if (!source.ok()) return source.status();
  LineReader lines(*std::move(source));
  LineParser parser;
  std::vector<PackLines> result(streams);
  absl::string_view text;
  while (lines.Next(&text)) {
    text = absl::StripAsciiWhitespace(text);
    if (text.empty()) continue;
    const std::string error = parser.Parse(text);
    if (!error.empty()) return lines.LineError(error);
    const LineParser::Line& line = parser.line();
    absl::Status status = CheckFormat(lines, line, streams);
    if (status.ok()) status = CheckContent(lines, line, streams);
    if (!status.ok()) return status;
    PackLines& stream = result[line.stream.value_or(0)];
    Packs& packs = stream.packs;
    packs.ordinals.insert(packs.ordinals.end(), line.ordinals.begin(),
                          line.ordinals.end());
    packs.offsets.push_back(packs.ordinals.size());
    if (line.has_source_offsets || !packs.source_offsets.empty()) {
      // Lines before the first that has some begin at 0, like any without.
      packs.source_offsets.resize(packs.ordinals.size() - line.ordinals.size());
      packs.source_offsets.insert(packs.source_offsets.end(),
                                  line.source_offsets.begin(),
                                  line.source_offsets.end());
      packs.source_offsets.resize(packs.ordinals.size());
    }
    stream.lengths.insert(stream.lengths.end(), line.lengths.begin(),
                          line.lengths.end());
    stream.line_numbers.push_back(lines.line_number());
  }
  if (!lines.status().ok()) return lines.status();
  return result;
}

}  // namespace packhouse
