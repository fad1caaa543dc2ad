// Where a packhoused is: what users write for it and what gRPC is told.

#ifndef PACKHOUSE_NET_ADDRESS_H_
#define PACKHOUSE_NET_ADDRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace packhouse {

// A Unix socket has a `path`, a TCP address a `host` (an IPv6 one without its
// brackets) and a port; 0 is for servers only, which then get one from the
// kernel.
struct Address {
  std::string path;
  std::string host;
  uint16_t port = 0;

  bool is_unix() const { return !path.empty(); }

  // True if no other machine can reach it: a Unix socket, "localhost",
  // 127.0.0.0/8 or ::1. Other names are not looked up: what they mean may
  // change.
  bool is_local() const;

  // The form that ParseAddress takes.
  std::string ToString() const;

  // The form that gRPC takes, to listen on and to connect to.
  std::string ToGrpcUri() const;
};

// Takes "unix:PATH" (absolute or relative), "HOST:PORT" and "[IPV6]:PORT".
// INVALID_ARGUMENT for anything else, and for a path that is longer than the
// kernel takes.
absl::StatusOr<Address> ParseAddress(absl::string_view text);

}  // namespace packhouse

#endif  // PACKHOUSE_NET_ADDRESS_H_
