// Reading the files that users give: plain or gzip alike, in large blocks, a
// line at a time, with errors that name the file and the line.

#ifndef PACKHOUSE_CLIENT_CLI_LINE_READER_H_
#define PACKHOUSE_CLIENT_CLI_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct gzFile_s;  // zlib.h

namespace packhouse {

// What error messages call the file at `path`, where "-" is standard input.
std::string InputName(const std::string& path);

// The bytes of a file, unpacked where it is gzip. All errors here and below are
// INVALID_ARGUMENT: whatever the cause, the input is not usable.
class ByteSource {
 public:
  // `path` "-" is standard input.
  static absl::StatusOr<ByteSource> Open(const std::string& path);

  // Fills `buffer` with the next bytes and returns how many: fewer than `size`
  // at the end only.
  absl::StatusOr<size_t> Read(char* buffer, size_t size);

  // What error messages call this file.
  const std::string& name() const { return name_; }

  // An error about this file.
  absl::Status Error(absl::string_view text) const;

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };

  ByteSource(std::string name, gzFile_s* file);

  std::string name_;
  std::unique_ptr<gzFile_s, Close> file_;
};

class LineReader {
 public:
  explicit LineReader(ByteSource source);

  // Sets *line to the next line without its line feed; it is valid until the
  // next call. Returns false at the end and on an error; status() tells which.
  bool Next(absl::string_view* line);

  absl::Status status() const { return status_; }

  // The number of the line that Next gave last, from 1.
  uint64_t line_number() const { return line_number_; }

  // An error about that line.
  absl::Status LineError(absl::string_view text) const;

 private:
  // Reads more behind the unread bytes. False if there is no more.
  bool Fill();

  ByteSource source_;
  std::string buffer_;
  size_t begin_ = 0;  // the unread bytes are buffer_[begin_] to [end_ - 1]
  size_t end_ = 0;
  bool at_end_ = false;
  uint64_t line_number_ = 0;
  absl::Status status_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_LINE_READER_H_
