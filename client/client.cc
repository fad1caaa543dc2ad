#include "packhouse/client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/in_process_client.h"
#include "client/remote_client.h"
#include "net/address.h"
#include "session/messages.h"

namespace packhouse {

absl::StatusOr<std::unique_ptr<Client>> Client::Create(
    const ClientOptions& options) {
  if (options.batch_sequences < 1 ||
      options.batch_sequences > kMaxBatchSequences) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch_sequences is ", options.batch_sequences,
                     ", must be from 1 to ", kMaxBatchSequences));
  }
  if (options.wait_limit <= absl::ZeroDuration() ||
      options.wait_limit == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("wait_limit is ", absl::FormatDuration(options.wait_limit),
                     ", must be more than 0 and finite"));
  }
  if (options.target.empty()) return MakeInProcessClient();
  absl::StatusOr<Address> target = ParseAddress(options.target);
  if (!target.ok()) return target.status();
  if (!target->is_unix() && target->port == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("target ", options.target,
                     " has port 0; a client needs one from 1 to 65535"));
  }
  return MakeRemoteClient(*std::move(target), options);
}

}  // namespace packhouse
