// Why a server says no, for programs: a name that does not change, beside the
// text for humans. The names and what each means are in the comments of
// PackerService (proto/packhouse/v1/packhouse.proto).
//
// It rides on an absl::Status, so that nothing between the place that refuses
// and the wire need know of it.

#ifndef PACKHOUSE_SESSION_REASON_H_
#define PACKHOUSE_SESSION_REASON_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace packhouse {

struct Reason {
  std::string name;  // "LIMIT_EXCEEDED"
  // Such as {"limit", "1024"}.
  std::map<std::string, std::string> metadata = {};
  // When it is worth trying again; none where it is not.
  absl::optional<absl::Duration> retry_after = absl::nullopt;
};

// `status`, which must not be OK, with that reason; it replaces an earlier one.
absl::Status WithReason(absl::Status status, const Reason& reason);

// None where there is none.
absl::optional<Reason> ReasonOf(const absl::Status& status);

// RESOURCE_EXHAUSTED because a value is over its limit: `what` for humans and
// programs, and both numbers.
absl::Status OverLimit(absl::string_view what, const absl::AlphaNum& value,
                       const absl::AlphaNum& limit);

}  // namespace packhouse

#endif  // PACKHOUSE_SESSION_REASON_H_
