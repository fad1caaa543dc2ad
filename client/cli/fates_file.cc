#include "client/cli/fates_file.h"

#include <cstddef>

#include "packhouse/policy.h"

namespace packhouse {
namespace {

const char* Name(Fate::Kind kind) {
  switch (kind) {
    case Fate::Kind::kEmpty:
      return "empty";
    case Fate::Kind::kDropped:
      return "dropped";
    case Fate::Kind::kTruncated:
      return "truncated";
    case Fate::Kind::kSplit:
      return "split";
  }
  return "";
}

}  // namespace

void WriteFates(const PackSpec& spec,
                absl::Span<const std::vector<uint32_t>> lists,
                TextWriter* writer) {
  for (size_t stream = 0; stream < lists.size(); ++stream) {
    for (const Fate& fate : Fates(spec, lists[stream], 0)) {
      writer->Text("{\"ordinal\":");
      writer->Number(fate.ordinal);
      writer->Text(",\"fate\":\"");
      writer->Text(Name(fate.kind));
      writer->Text("\",\"length\":");
      writer->Number(fate.length);
      writer->Text(",\"packed_tokens\":");
      writer->Number(fate.packed_tokens);
      writer->Text(",\"units\":");
      writer->Number(fate.units);
      if (lists.size() > 1) {
        writer->Text(",\"stream\":");
        writer->Number(stream);
      }
      writer->Text("}\n");
    }
  }
}

}  // namespace packhouse
