// Writing a file that appears whole or not at all.

#ifndef PACKHOUSE_CLIENT_CLI_OUTPUT_FILE_H_
#define PACKHOUSE_CLIENT_CLI_OUTPUT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace packhouse {

// True for "-" and "/dev/stdout".
bool IsStandardOutput(const std::string& path);

// True if a file to read and one to write, either of which may be "-", are one
// regular file, by whatever names or links.
bool IsSameFile(const std::string& input, const std::string& output);

// True if both lead to one place that an OutputFile would write, also where no
// file is there yet.
bool IsSameOutput(const std::string& a, const std::string& b);

// OK if an OutputFile at `path` can be expected to succeed; else
// INVALID_ARGUMENT. Changes nothing: for asking before long work.
absl::Status CheckOutputPath(const std::string& path);

// A regular file is written under another name beside its place and takes the
// place, or an older file's, with Commit; without Commit nothing has changed.
// What is not a regular file (a pipe, a terminal) is written directly, and so
// is standard output, "-".
class OutputFile {
 public:
  static absl::StatusOr<OutputFile> Open(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  absl::Status Write(absl::string_view text);

  // Makes what was written appear. Nothing may be called afterwards.
  absl::Status Commit();

 private:
  // `fd` is what open returned, or below 0 with errno set.
  static absl::StatusOr<OutputFile> Opened(std::string path,
                                           std::string temporary_path, int fd);

  OutputFile(std::string path, std::string temporary_path, int fd);

  std::string path_;            // where to, as errors name it too
  std::string temporary_path_;  // empty where the target is written directly
  int fd_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_OUTPUT_FILE_H_
