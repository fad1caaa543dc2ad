// Text for a file, gathered into large writes.

#ifndef PACKHOUSE_CLIENT_CLI_TEXT_WRITER_H_
#define PACKHOUSE_CLIENT_CLI_TEXT_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cli/output_file.h"

namespace packhouse {

// The first error stays: it is returned by Finish, and nothing is written after
// it.
class TextWriter {
 public:
  explicit TextWriter(OutputFile file);

  void Text(absl::string_view text);
  void Number(uint64_t number);

  bool ok() const { return status_.ok(); }

  // Writes what was gathered, so that only Finish is left to do.
  absl::Status Flush();

  // Makes the file appear. The last call.
  absl::Status Finish();

 private:
  OutputFile file_;
  std::string buffer_;
  absl::Status status_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_TEXT_WRITER_H_
