// Reading a list of lengths from NumPy's .npy format (versions 1 to 3): one
// dimension, any little-endian integer type.

#ifndef PACKHOUSE_CLIENT_CLI_NPY_FILE_H_
#define PACKHOUSE_CLIENT_CLI_NPY_FILE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/line_reader.h"

namespace packhouse {

// INVALID_ARGUMENT where the file is not such an array, or names the first item
// that is negative or over 2^32 - 1.
absl::StatusOr<std::vector<uint32_t>> ReadNpy(ByteSource source);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_NPY_FILE_H_
