#include "client/cli/error_text.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace packhouse {
namespace {

constexpr size_t kQuotedBytes = 40;
constexpr size_t kLineBytes = 1900;

}  // namespace

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::CEscape(text.substr(0, kQuotedBytes)), "\"",
                      text.size() > kQuotedBytes ? "..." : "");
}

std::string InOptionNames(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"capacity_tokens is ", "--capacity is "},
             {"algorithm is ", "--algorithm is "},
             {"window_sequences is ", "--window is "},
             {"max_sequences_per_pack is ", "--max-sequences is "},
             {"sequence_alignment is ", "--alignment is "},
             {"max_displacement is ", "--max-displacement is "},
             {"budget_seconds is ", "--budget is "},
             {"effort is ", "--effort is "},
             {"seed is ", "--seed is "}});
}

absl::Status OpenError(const absl::Status& status) {
  if (!absl::IsInvalidArgument(status) && !absl::IsResourceExhausted(status)) {
    return status;
  }
  return absl::InvalidArgumentError(InOptionNames(status.message()));
}

std::string OneLine(absl::string_view text) {
  std::string line(text.substr(0, kLineBytes));
  for (char& c : line) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  if (text.size() > kLineBytes) line += "...";
  return line;
}

}  // namespace packhouse
