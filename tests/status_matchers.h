// Matchers for absl::Status, which the GoogleTest of Debian 12 lacks.

#ifndef PACKHOUSE_TESTS_STATUS_MATCHERS_H_
#define PACKHOUSE_TESTS_STATUS_MATCHERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

namespace packhouse {

inline const absl::Status& ToStatus(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& ToStatus(const absl::StatusOr<T>& status_or) {
  return status_or.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << ToStatus(arg);
  return ToStatus(arg).ok();
}

// The code, and a matcher for the text, which is checked to be short as well.
MATCHER_P2(StatusIs, code, message, "") {
  const absl::Status& status = ToStatus(arg);
  *result_listener << status << " ";
  return status.code() == code && status.message().size() < 2048 &&
         testing::ExplainMatchResult(message, std::string(status.message()),
                                     result_listener);
}

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_STATUS_MATCHERS_H_
