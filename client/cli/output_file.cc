#include "client/cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace packhouse {
namespace {

constexpr int kTemporaryNames = 100;

// True if `path` is there and is not a regular file.
bool IsSpecial(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

// Where the file behind `path` really lies, so that a link stays a link.
std::string Resolved(const std::string& path) {
  std::error_code error;
  const std::filesystem::path resolved =
      std::filesystem::weakly_canonical(path, error);
  return error ? path : resolved.string();
}

std::string Folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

absl::Status InvalidError(const std::string& name, int error_number) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": ", std::strerror(error_number)));
}

absl::Status WriteError(const std::string& path, int error_number) {
  return absl::UnknownError(
      absl::StrCat("cannot write ", path, ": ", std::strerror(error_number)));
}

}  // namespace

bool IsStandardOutput(const std::string& path) {
  return path == "-" || path == "/dev/stdout";
}

bool IsSameOutput(const std::string& a, const std::string& b) {
  if (IsStandardOutput(a) || IsStandardOutput(b)) {
    return IsStandardOutput(a) && IsStandardOutput(b);
  }
  std::error_code error;
  const auto place = [&](const std::string& path) {
    return Resolved(std::filesystem::absolute(path, error).string());
  };
  return !a.empty() && !b.empty() && place(a) == place(b);
}

bool IsSameFile(const std::string& input, const std::string& output) {
  const std::string in = input == "-" ? "/dev/stdin" : input;
  const std::string out = output == "-" ? "/dev/stdout" : output;
  std::error_code error;
  return std::filesystem::is_regular_file(in, error) &&
         std::filesystem::equivalent(in, out, error);
}

absl::Status CheckOutputPath(const std::string& path) {
  if (IsStandardOutput(path)) return absl::OkStatus();
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return InvalidError(path, EISDIR);
    if (access(path.c_str(), W_OK) != 0) return InvalidError(path, errno);
    if (!S_ISREG(info.st_mode)) return absl::OkStatus();
  } else if (errno != ENOENT || path.empty()) {
    return InvalidError(path, errno);
  }
  const std::string folder = Folder(Resolved(path));
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return InvalidError(folder, errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<OutputFile> OutputFile::Open(const std::string& path) {
  if (IsStandardOutput(path)) {
    return Opened("standard output", "", dup(STDOUT_FILENO));
  }
  if (IsSpecial(path)) {
    return Opened(path, "", open(path.c_str(), O_WRONLY | O_CLOEXEC));
  }
  const std::string target = Resolved(path);
  std::string temporary;
  int fd = -1;
  for (int i = 0; i < kTemporaryNames; ++i) {
    temporary = absl::StrCat(target, ".", getpid(), ".", i, ".tmp");
    fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) break;
  }
  return Opened(target, temporary, fd);
}

absl::StatusOr<OutputFile> OutputFile::Opened(std::string path,
                                              std::string temporary_path,
                                              int fd) {
  if (fd < 0) return WriteError(path, errno);
  return OutputFile(std::move(path), std::move(temporary_path), fd);
}

OutputFile::OutputFile(std::string path, std::string temporary_path, int fd)
    : path_(std::move(path)),
      temporary_path_(std::move(temporary_path)),
      fd_(fd) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_path_(std::exchange(other.temporary_path_, "")),
      fd_(std::exchange(other.fd_, -1)) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

absl::Status OutputFile::Write(absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteError(path_, errno);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  const bool direct = temporary_path_.empty();
  if (!direct && fsync(fd_) != 0) return WriteError(path_, errno);
  if (close(std::exchange(fd_, -1)) != 0) return WriteError(path_, errno);
  if (direct) return absl::OkStatus();
  if (std::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    return WriteError(path_, errno);
  }
  temporary_path_.clear();
  return absl::OkStatus();
}

}  // namespace packhouse
