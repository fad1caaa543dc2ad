// Where a packhoused is, as users write it and as gRPC wants it.

#ifndef PACKHOUSE_CLIENT_TARGET_H_
#define PACKHOUSE_CLIENT_TARGET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace packhouse {

struct Target {
  std::string name;  // as the user wrote it
  std::string uri;   // as gRPC takes it

  // A Unix socket or this machine's loopback: no proxy may get in between.
  bool local = false;
};

// Takes "unix:PATH" (absolute or relative), "HOST:PORT" and "[IPV6]:PORT".
// INVALID_ARGUMENT that names the target for anything else.
absl::StatusOr<Target> ParseTarget(absl::string_view name);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_TARGET_H_
