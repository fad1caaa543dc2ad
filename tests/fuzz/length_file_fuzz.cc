// The files that users give to the program, in every format: read, or refused
// with a short text. A list that was read and written down is read again as the
// same.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <variant>

#include "absl/strings/str_cat.h"
#include "client/cli/length_file.h"
#include "client/cli/packs_file.h"
#include "tests/fuzz/fuzz.h"

namespace packhouse {
namespace {

// A file in memory; names that end in any way lead to it.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("lengths", MFD_CLOEXEC)) {
    Require(fd_ >= 0 && mkdtemp(folder_) != nullptr, "no place for a file");
    target_ = absl::StrCat("/proc/self/fd/", fd_);
  }
  ~MemoryFile() {
    unlink(link_.c_str());
    rmdir(folder_);
  }

  // The path of a file with this content, whose name ends so. Until the next
  // call.
  std::string Path(absl::string_view ending, absl::string_view content) {
    Require(ftruncate(fd_, 0) == 0 &&
                pwrite(fd_, content.data(), content.size(), 0) ==
                    static_cast<ssize_t>(content.size()),
            "the file was not written");
    unlink(link_.c_str());
    link_ = absl::StrCat(folder_, "/lengths", ending);
    Require(symlink(target_.c_str(), link_.c_str()) == 0, "no link");
    return link_;
  }

 private:
  const int fd_;
  char folder_[32] = "/tmp/packhouse_fuzz_XXXXXX";
  std::string target_;
  std::string link_;
};

void RequireShort(const absl::Status& status) {
  Require(status.message().size() < 2000, "a long error");
}

struct Format {
  const char* ending;
  const char* field;
};
constexpr Format kFormats[] = {
    {".txt", ""}, {".jsonl", "n"}, {".npy", ""}, {".hist.csv", ""}};

void ReadAndReadAgain(const Format& format, absl::string_view content,
                      MemoryFile* file) {
  const absl::StatusOr<LengthInput> input =
      ReadLengths(file->Path(format.ending, content), format.field);
  if (!input.ok()) {
    Require(absl::IsInvalidArgument(input.status()), "another code");
    return RequireShort(input.status());
  }
  std::string text;
  if (const auto* list = std::get_if<LengthList>(&*input)) {
    Require(!list->empty(), "no length");
    for (const uint32_t length : *list) absl::StrAppend(&text, length, "\n");
    const auto again = ReadLengths(file->Path(".txt", text), "");
    Require(again.ok() && std::get<LengthList>(*again) == *list,
            "another list");
  } else {
    const auto& rows = std::get<LengthHistogram>(*input);
    Require(!rows.empty(), "no row");
    text = "length,count\n";
    for (const LengthCount& row : rows) {
      Require(row.count > 0, "a row of none");
      absl::StrAppend(&text, row.length, ",", row.count, "\n");
    }
    const auto again = ReadLengths(file->Path(".hist.csv", text), "");
    Require(
        again.ok() && std::get<LengthHistogram>(*again).size() == rows.size(),
        "other rows");
  }
}

void ReadPacksOf(uint64_t streams, absl::string_view content,
                 MemoryFile* file) {
  const auto lines = ReadPacks(file->Path(".jsonl", content), streams);
  if (!lines.ok()) return RequireShort(lines.status());
  Require(lines->size() == streams, "the number of streams");
  for (const PackLines& stream : *lines) {
    Require(stream.lengths.size() == stream.packs.ordinals.size() &&
                stream.line_numbers.size() == stream.packs.size(),
            "columns of different length");
  }
}

}  // namespace
}  // namespace packhouse

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace packhouse;
  static MemoryFile file;
  FuzzBytes bytes(data, size);
  const uint64_t kind = bytes.Between(0, 5);
  if (kind < 4) {
    ReadAndReadAgain(kFormats[kind], bytes.Rest(), &file);
  } else {
    ReadPacksOf(/*streams=*/kind == 4 ? 1 : 3, bytes.Rest(), &file);
  }
  return 0;
}
