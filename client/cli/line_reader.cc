#include "client/cli/line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace packhouse {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr unsigned kGzipBufferBytes = 1u << 18;

// A longer line is no list of anything; the limit keeps memory bounded.
constexpr size_t kMaxLineBytes = size_t{1} << 30;

absl::Status FileError(absl::string_view name, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", text));
}

}  // namespace

std::string InputName(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

ByteSource::ByteSource(std::string name, gzFile_s* file)
    : name_(std::move(name)), file_(file) {}

void ByteSource::Close::operator()(gzFile_s* file) const { gzclose(file); }

absl::Status ByteSource::Error(absl::string_view text) const {
  return FileError(name_, text);
}

absl::StatusOr<ByteSource> ByteSource::Open(const std::string& path) {
  const std::string name = InputName(path);
  const int fd = path == "-" ? dup(STDIN_FILENO)
                             : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileError(name, std::strerror(errno));
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    close(fd);
    return FileError(name, "is a directory");
  }
  gzFile file = gzdopen(fd, "rb");
  if (file == nullptr) {
    close(fd);
    return FileError(name, "out of memory");
  }
  gzbuffer(file, kGzipBufferBytes);
  return ByteSource(name, file);
}

absl::StatusOr<size_t> ByteSource::Read(char* buffer, size_t size) {
  size_t filled = 0;
  while (filled < size) {
    const unsigned wanted =
        static_cast<unsigned>(std::min(size - filled, kBlockBytes));
    const int got = gzread(file_.get(), buffer + filled, wanted);
    // A gzip file that was cut short is an error of zlib's beside a short read.
    int code = Z_OK;
    const char* text = gzerror(file_.get(), &code);
    if (code == Z_ERRNO) return Error(std::strerror(errno));
    if (code == Z_BUF_ERROR) return Error("the gzip data ends too early");
    if (code != Z_OK) return Error(absl::StrCat("bad gzip data: ", text));
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
  }
  return filled;
}

LineReader::LineReader(ByteSource source)
    : source_(std::move(source)), buffer_(kBlockBytes, '\0') {}

bool LineReader::Next(absl::string_view* line) {
  size_t searched = begin_;
  for (;;) {
    const char* from = buffer_.data() + searched;
    const void* found = std::memchr(from, '\n', end_ - searched);
    if (found != nullptr) {
      const size_t line_end = static_cast<const char*>(found) - buffer_.data();
      *line = {buffer_.data() + begin_, line_end - begin_};
      begin_ = line_end + 1;
      ++line_number_;
      return true;
    }
    const size_t unread = end_ - begin_;
    if (!Fill()) break;
    searched = begin_ + unread;
  }
  if (!status_.ok() || begin_ == end_) return false;
  *line = {buffer_.data() + begin_, end_ - begin_};
  begin_ = end_;
  ++line_number_;
  return true;
}

bool LineReader::Fill() {
  if (at_end_ || !status_.ok()) return false;
  const size_t unread = end_ - begin_;
  std::memmove(&buffer_[0], buffer_.data() + begin_, unread);
  begin_ = 0;
  end_ = unread;
  if (unread == buffer_.size()) {
    if (unread >= kMaxLineBytes) {
      ++line_number_;
      status_ = LineError(absl::StrCat("is over ", kMaxLineBytes, " bytes"));
      return false;
    }
    buffer_.resize(2 * unread);
  }
  absl::StatusOr<size_t> got =
      source_.Read(&buffer_[end_], buffer_.size() - end_);
  if (!got.ok()) {
    status_ = got.status();
    return false;
  }
  at_end_ = *got < buffer_.size() - end_;
  end_ += *got;
  return *got > 0;
}

absl::Status LineReader::LineError(absl::string_view text) const {
  return source_.Error(absl::StrCat("line ", line_number_, ": ", text));
}

}  // namespace packhouse
