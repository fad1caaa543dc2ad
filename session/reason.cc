#include "session/reason.h"

#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace packhouse {
namespace {

constexpr char kPayload[] = "packhouse/reason";

// A name, the milliseconds or nothing, then keys and values: separated by a
// byte that none of them has.
constexpr char kSeparator = '\0';

}  // namespace

absl::Status WithReason(absl::Status status, const Reason& reason) {
  std::string text = absl::StrCat(reason.name, std::string(1, kSeparator));
  if (reason.retry_after.has_value()) {
    absl::StrAppend(&text, absl::ToInt64Milliseconds(*reason.retry_after));
  }
  for (const auto& [key, value] : reason.metadata) {
    text.push_back(kSeparator);
    text += key;
    text.push_back(kSeparator);
    text += value;
  }
  status.SetPayload(kPayload, absl::Cord(text));
  return status;
}

absl::optional<Reason> ReasonOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  if (!payload.has_value()) return absl::nullopt;
  const std::vector<std::string> parts =
      absl::StrSplit(std::string(*payload), kSeparator);
  Reason reason;
  reason.name = parts[0];
  int64_t milliseconds;
  if (absl::SimpleAtoi(parts[1], &milliseconds)) {
    reason.retry_after = absl::Milliseconds(milliseconds);
  }
  for (size_t i = 2; i + 1 < parts.size(); i += 2) {
    reason.metadata[parts[i]] = parts[i + 1];
  }
  return reason;
}

absl::Status OverLimit(absl::string_view what, const absl::AlphaNum& value,
                       const absl::AlphaNum& limit) {
  return WithReason(
      absl::ResourceExhaustedError(absl::StrCat(
          what, " is ", value, ", this server allows at most ", limit)),
      {"LIMIT_EXCEEDED",
       {{"what", std::string(what)},
        {"value", absl::StrCat(value)},
        {"limit", absl::StrCat(limit)}}});
}

}  // namespace packhouse
