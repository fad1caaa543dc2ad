// Who may serve on a Unix socket.
//
// gRPC replaces the file of a socket whether or not somebody still serves on
// it. A guard makes that safe: as long as it lives, no other packhoused gets
// the same path. The kernel releases it with the process, however that ends, so
// what a killed server left behind is told from a live one.

#ifndef PACKHOUSE_SERVER_SOCKET_GUARD_H_
#define PACKHOUSE_SERVER_SOCKET_GUARD_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace packhouse {

class SocketGuard {
 public:
  // Locks PATH.lock and removes a socket at `path` that nobody serves on.
  // FAILED_PRECONDITION, and nothing is removed, where somebody does, `path` is
  // something else than a socket or its folder is missing or closed to us.
  static absl::StatusOr<SocketGuard> Acquire(const std::string& path);

  SocketGuard(SocketGuard&& other) noexcept;
  SocketGuard& operator=(SocketGuard&&) = delete;

  // Removes the lock file and lets others have the path.
  ~SocketGuard();

 private:
  SocketGuard(std::string lock_path, int lock_fd)
      : lock_path_(std::move(lock_path)), lock_fd_(lock_fd) {}

  std::string lock_path_;
  int lock_fd_;  // -1 when moved from
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_SOCKET_GUARD_H_
