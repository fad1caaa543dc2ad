// LENGTHS: the list of sequence lengths that a command works on, in any of the
// formats that users have:
//
//   one integer a line       any name, "-" for standard input
//   JSON Lines               a name ending in .jsonl, or a field is asked for
//   NumPy, one dimension     a name ending in .npy
//   histogram                a name ending in .hist.csv: "length,count"
//
// Each may be gzip as well (with .gz behind its name). Blank lines, spaces
// around a line and CRLF are accepted.

#ifndef PACKHOUSE_CLIENT_CLI_LENGTH_FILE_H_
#define PACKHOUSE_CLIENT_CLI_LENGTH_FILE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "packhouse/histogram.h"

namespace packhouse {

using LengthList = std::vector<uint32_t>;          // in the order of arrival
using LengthHistogram = std::vector<LengthCount>;  // counts are at least 1
using LengthInput = std::variant<LengthList, LengthHistogram>;

// Reads the file at `path`; `field` is the key to read in each line of JSON, or
// empty. The input holds at least one sequence. Lengths are 0 to 2^32 - 1:
// which of them can be packed is for CheckLengths to say.
//
// INVALID_ARGUMENT names the file and the first bad line.
absl::StatusOr<LengthInput> ReadLengths(const std::string& path,
                                        const std::string& field);

// The whole number that `text` spells in decimal digits, at most `max`.
absl::StatusOr<uint64_t> ParseWholeNumber(absl::string_view text, uint64_t max);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_LENGTH_FILE_H_
