#include "client/targets.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "net/tls/tls_files.h"

namespace packhouse {
namespace {

absl::Status CheckTls(const TlsOptions& tls,
                      const std::vector<Address>& targets) {
  for (const Address& target : targets) {
    if (target.is_unix()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "TLS is for a target HOST:PORT, not for ", target.ToString()));
    }
  }
  if (tls.cert_file.empty() != tls.key_file.empty()) {
    return absl::InvalidArgumentError(
        "a TLS certificate needs its key and a key its certificate, and only "
        "one of the files is given");
  }
  absl::Status status;
  if (!tls.cert_file.empty()) {
    status = ReadIdentity(tls.cert_file, tls.key_file).status();
  }
  if (status.ok() && !tls.ca_file.empty()) {
    status = ReadAuthorities(tls.ca_file).status();
  }
  return status;
}

}  // namespace

absl::StatusOr<std::vector<Address>> ParseTargets(
    const ClientOptions& options) {
  std::vector<Address> targets;
  for (const absl::string_view each : absl::StrSplit(options.target, ',')) {
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
  if (options.tls.has_value()) {
    absl::Status status = CheckTls(*options.tls, targets);
    if (!status.ok()) return status;
  }
  return targets;
}

}  // namespace packhouse
