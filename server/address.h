// The addresses that a server can be told to serve on.

#ifndef PACKHOUSE_SERVER_ADDRESS_H_
#define PACKHOUSE_SERVER_ADDRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace packhouse {

// "unix:PATH", or "HOST:PORT" with an IPv6 host in brackets. `path` is set in
// the one case, `host` (without brackets) in the other.
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
};

// INVALID_ARGUMENT where `text` has neither form, or the path is longer than
// the kernel takes.
absl::StatusOr<Address> ParseAddress(absl::string_view text);

// Why a server could not listen on a TCP address, after a library said no more
// than that: FAILED_PRECONDITION with the address and the kernel's reason,
// found by trying to bind it.
absl::Status ExplainBindFailure(const Address& address);

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_ADDRESS_H_
