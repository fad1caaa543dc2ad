#include "packhouse/client.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/in_process_client.h"
#include "client/remote_client.h"
#include "client/targets.h"
#include "net/address.h"
#include "session/messages.h"

namespace packhouse {
namespace {

// OK if `value` is finite and more than 0, or 0 itself where that means
// something.
absl::Status CheckTime(absl::string_view name, absl::Duration value,
                       bool may_be_zero) {
  if (value < absl::InfiniteDuration() &&
      (may_be_zero ? value >= absl::ZeroDuration()
                   : value > absl::ZeroDuration())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", absl::FormatDuration(value), ", must be ",
                   may_be_zero ? "0 or more" : "more than 0", " and finite"));
}

absl::Status CheckOptions(const ClientOptions& options) {
  if (options.batch_sequences < 1 ||
      options.batch_sequences > kMaxBatchSequences) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch_sequences is ", options.batch_sequences,
                     ", must be from 1 to ", kMaxBatchSequences));
  }
  absl::Status status =
      CheckTime("answer_within", options.answer_within, /*may_be_zero=*/false);
  if (status.ok()) {
    status = CheckTime("unavailable_for", options.unavailable_for,
                       /*may_be_zero=*/true);
  }
  if (status.ok() && options.flush_after <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "flush_after is ", absl::FormatDuration(options.flush_after),
        ", must be more than 0, or infinite for never"));
  }
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Create(
    const ClientOptions& options) {
  absl::Status status = CheckOptions(options);
  if (!status.ok()) return status;
  if (options.target.empty()) {
    if (options.tls.has_value()) {
      return absl::InvalidArgumentError(
          "TLS is for a target HOST:PORT, not for a packer in this process");
    }
    return MakeInProcessClient(options);
  }
  absl::StatusOr<std::vector<Address>> targets = ParseTargets(options);
  if (!targets.ok()) return targets.status();
  return MakeRemoteClient(*std::move(targets), options);
}

}  // namespace packhouse
