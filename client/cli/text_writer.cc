#include "client/cli/text_writer.h"

#include <charconv>
#include <cstddef>

namespace packhouse {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kMaxNumberBytes = 20;  // of 2^64 - 1

}  // namespace

TextWriter::TextWriter(OutputFile file) : file_(std::move(file)) {
  buffer_.reserve(kBufferBytes);
}

void TextWriter::Text(absl::string_view text) {
  if (buffer_.size() + text.size() > kBufferBytes) {
    static_cast<void>(Flush());
  }
  buffer_.append(text.data(), text.size());
}

void TextWriter::Number(uint64_t number) {
  char digits[kMaxNumberBytes];
  const std::to_chars_result end =
      std::to_chars(digits, digits + sizeof digits, number);
  Text({digits, static_cast<size_t>(end.ptr - digits)});
}

absl::Status TextWriter::Flush() {
  if (status_.ok()) status_ = file_.Write(buffer_);
  buffer_.clear();
  return status_;
}

absl::Status TextWriter::Finish() {
  absl::Status status = Flush();
  return status.ok() ? file_.Commit() : status;
}

}  // namespace packhouse
