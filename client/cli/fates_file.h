// What became of the sequences that are not in a pack whole, as JSON Lines in
// order of arrival:
//
//   {"ordinal":3,"fate":"truncated","length":900,"packed_tokens":512,"units":1}
//
// "fate" is empty, dropped, truncated or split; of several streams each line
// has "stream" too, and lines are sorted by stream first.

#ifndef PACKHOUSE_CLIENT_CLI_FATES_FILE_H_
#define PACKHOUSE_CLIENT_CLI_FATES_FILE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "client/cli/text_writer.h"
#include "packhouse/spec.h"

namespace packhouse {

// Stream k has lists[k].
void WriteFates(const PackSpec& spec,
                absl::Span<const std::vector<uint32_t>> lists,
                TextWriter* writer);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_FATES_FILE_H_
