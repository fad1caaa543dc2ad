#include "packhouse/client.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "client/in_process_client.h"
#include "client/remote_client.h"
#include "net/address.h"
#include "net/tls/tls_files.h"
#include "session/messages.h"

namespace packhouse {
namespace {

absl::Status NoTls(absl::string_view target) {
  return absl::InvalidArgumentError(
      absl::StrCat("TLS is for a target HOST:PORT, not for ", target));
}

absl::Status CheckTls(const TlsOptions& tls,
                      const std::vector<Address>& targets) {
  for (const Address& target : targets) {
    if (target.is_unix()) return NoTls(target.ToString());
  }
  if (tls.cert_file.empty() != tls.key_file.empty()) {
    return absl::InvalidArgumentError(
        "a TLS certificate needs its key and a key its certificate, and only "
        "one of the files is given");
  }
  absl::Status status;
  if (!tls.cert_file.empty()) {
    status = CheckIdentityFiles(tls.cert_file, tls.key_file);
  }
  if (status.ok() && !tls.ca_file.empty()) {
    status = CheckAuthorityFile(tls.ca_file);
  }
  return status;
}

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

absl::StatusOr<std::vector<Address>> ParseTargets(absl::string_view text) {
  std::vector<Address> targets;
  for (const absl::string_view each : absl::StrSplit(text, ',')) {
    absl::StatusOr<Address> target = ParseAddress(each);
    if (!target.ok()) return target.status();
    if (!target->is_unix() && target->port == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "target ", each, " has port 0; a client needs one from 1 to 65535"));
    }
    targets.push_back(*std::move(target));
  }
  if (targets.size() > kMaxTargets) {
    return absl::InvalidArgumentError(
        absl::StrCat("target names ", targets.size(),
                     " addresses, must name at most ", kMaxTargets));
  }
  return targets;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Create(
    const ClientOptions& options) {
  absl::Status status = CheckOptions(options);
  if (!status.ok()) return status;
  if (options.target.empty()) {
    if (options.tls.has_value()) return NoTls("a packer in this process");
    return MakeInProcessClient(options);
  }
  absl::StatusOr<std::vector<Address>> targets = ParseTargets(options.target);
  if (!targets.ok()) return targets.status();
  if (options.tls.has_value()) {
    status = CheckTls(*options.tls, *targets);
    if (!status.ok()) return status;
  }
  return MakeRemoteClient(*std::move(targets), options);
}

}  // namespace packhouse
