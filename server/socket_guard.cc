#include "server/socket_guard.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace packhouse {
namespace {

absl::Status Failure(const std::string& path, absl::string_view reason) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot listen on unix:", path, ": ", reason));
}

// True if a connection is taken, or might be: a full queue belongs to a server
// that lives.
bool SomebodyServes(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const bool refused = connect(fd, reinterpret_cast<sockaddr*>(&address),
                               sizeof(address)) != 0 &&
                       errno == ECONNREFUSED;
  close(fd);
  return !refused;
}

// OK if `path` is a socket or nothing at all; which, in *exists.
absl::Status CheckIsSocket(const std::string& path, bool* exists) {
  struct stat status;
  *exists = lstat(path.c_str(), &status) == 0;
  if (*exists && !S_ISSOCK(status.st_mode)) {
    return Failure(path, "the file exists and is not a socket");
  }
  if (!*exists && errno != ENOENT) return Failure(path, std::strerror(errno));
  return absl::OkStatus();
}

absl::Status RemoveStaleSocket(const std::string& path) {
  bool exists;
  absl::Status status = CheckIsSocket(path, &exists);
  if (!status.ok() || !exists) return status;
  // A server that knows no lock files, or whose lock file was removed.
  if (SomebodyServes(path)) {
    return Failure(path, "another process serves on it");
  }
  if (unlink(path.c_str()) != 0) return Failure(path, std::strerror(errno));
  return absl::OkStatus();
}

// True if the open file is still the one with that name.
bool HasName(int fd, const std::string& path) {
  struct stat open_file;
  struct stat named_file;
  return fstat(fd, &open_file) == 0 && stat(path.c_str(), &named_file) == 0 &&
         open_file.st_dev == named_file.st_dev &&
         open_file.st_ino == named_file.st_ino;
}

// The descriptor of the locked file. Whoever held the lock before may have
// removed the file between our open and our flock; a lock on a file without a
// name keeps nobody out, so then we begin again.
absl::StatusOr<int> Lock(const std::string& path,
                         const std::string& lock_path) {
  constexpr int kAttempts = 100;
  for (int i = 0; i < kAttempts; ++i) {
    const int fd = open(lock_path.c_str(),
                        O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0660);
    if (fd < 0) {
      return Failure(path, absl::StrCat("cannot open ", lock_path, ": ",
                                        std::strerror(errno)));
    }
    const bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    const int error = errno;
    if (locked && HasName(fd, lock_path)) return fd;
    close(fd);
    if (locked) continue;
    return Failure(path, error == EWOULDBLOCK
                             ? std::string("another packhoused serves on it")
                             : absl::StrCat("cannot lock ", lock_path, ": ",
                                            std::strerror(error)));
  }
  return Failure(path, absl::StrCat(lock_path, " is removed again and again"));
}

}  // namespace

absl::StatusOr<SocketGuard> SocketGuard::Acquire(const std::string& path) {
  // First, so that no lock file is left beside what is not ours.
  bool exists;
  if (absl::Status status = CheckIsSocket(path, &exists); !status.ok()) {
    return status;
  }
  const std::string lock_path = absl::StrCat(path, ".lock");
  absl::StatusOr<int> fd = Lock(path, lock_path);
  if (!fd.ok()) return fd.status();
  SocketGuard guard(lock_path, *fd);
  if (absl::Status status = RemoveStaleSocket(path); !status.ok()) {
    return status;
  }
  return guard;
}

SocketGuard::SocketGuard(SocketGuard&& other) noexcept
    : lock_path_(std::move(other.lock_path_)),
      lock_fd_(std::exchange(other.lock_fd_, -1)) {}

SocketGuard::~SocketGuard() {
  if (lock_fd_ < 0) return;
  // While it is still locked: then it is ours.
  unlink(lock_path_.c_str());
  close(lock_fd_);
}

}  // namespace packhouse
