// PACKS: the packs of a plan as JSON Lines, a pack a line, in release order:
//
//   {"ordinals":[0,2],"lengths":[200,312]}              of a list
//   {"ordinals":[0,2],"lengths":[200,312],"stream":1}   of several streams
//   {"lengths":[312,200],"count":7}                     of a histogram
//
// `lengths` are packed tokens. A pack with a sequence that is not whole has, in
// front of "stream", where in its sequence each begins:
//
//   {"ordinals":[4,5],"lengths":[88,400],"source_offsets":[512,0]}
//
// No spaces, keys in this order, lines sorted by stream, then pack: equal plans
// are equal bytes.

#ifndef PACKHOUSE_CLIENT_CLI_PACKS_FILE_H_
#define PACKHOUSE_CLIENT_CLI_PACKS_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/cli/text_writer.h"
#include "packhouse/histogram.h"
#include "packhouse/packs.h"

namespace packhouse {

// The lists and the packs of some streams; stream k has lists[k] and packs[k].
// The key "stream" is written where there are several.
void WritePacks(const PackSpec& spec,
                absl::Span<const std::vector<uint32_t>> lists,
                absl::Span<const Packs> packs, TextWriter* writer);

void WriteHistogramPacks(const HistogramPlan& plan, TextWriter* writer);

// What the lines of one stream say.
struct PackLines {
  Packs packs;
  std::vector<uint32_t> lengths;       // beside packs.ordinals
  std::vector<uint64_t> line_numbers;  // of each pack
};

// Reads the PACKS of `streams` streams.
//
// INVALID_ARGUMENT, with the line, where the file is not of this format or not
// of so many streams; FAILED_PRECONDITION where a line contradicts itself or
// names a stream beyond the last.
absl::StatusOr<std::vector<PackLines>> ReadPacks(const std::string& path,
                                                 uint64_t streams);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_PACKS_FILE_H_
