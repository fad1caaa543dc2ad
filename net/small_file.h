// Files that an operator writes: settings, certificates, keys.

#ifndef PACKHOUSE_NET_SMALL_FILE_H_
#define PACKHOUSE_NET_SMALL_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace packhouse {

// Far more than such a file has, so that one that was named by mistake is not
// read into memory.
inline constexpr size_t kMaxSmallFileBytes = 1 << 20;

// What is in a regular file. INVALID_ARGUMENT with its path and the reason
// where it is missing, closed to us, something else than a file or larger than
// kMaxSmallFileBytes. Never waits for somebody to write, as a pipe would.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

}  // namespace packhouse

#endif  // PACKHOUSE_NET_SMALL_FILE_H_
