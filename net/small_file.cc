#include "net/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace packhouse {
namespace {

absl::Status Failure(absl::string_view path, absl::string_view reason) {
  constexpr size_t kShownBytes = 500;
  return absl::InvalidArgumentError(
      absl::StrCat(absl::CEscape(path.substr(0, kShownBytes)),
                   path.size() > kShownBytes ? "..." : "", ": ", reason));
}

absl::StatusOr<std::string> Read(int fd, const std::string& path) {
  struct stat status;
  if (fstat(fd, &status) != 0) return Failure(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return Failure(path, "not a regular file");
  std::string bytes;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count < 0) return Failure(path, std::strerror(errno));
    if (count == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(count));
    if (bytes.size() > kMaxSmallFileBytes) {
      return Failure(
          path, absl::StrCat("has more than ", kMaxSmallFileBytes, " bytes"));
    }
  }
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  // Without O_NONBLOCK a pipe would keep us until somebody writes to it.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Failure(path, std::strerror(errno));
  absl::StatusOr<std::string> bytes = Read(fd, path);
  close(fd);
  return bytes;
}

}  // namespace packhouse
