#include "packhouse/client.h"

#include <utility>

#include "absl/strings/str_cat.h"
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

absl::Status CheckTls(const TlsOptions& tls) {
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

}  // namespace

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
  if (options.target.empty()) {
    if (options.tls.has_value()) return NoTls("a packer in this process");
    return MakeInProcessClient();
  }
  absl::StatusOr<Address> target = ParseAddress(options.target);
  if (!target.ok()) return target.status();
  if (!target->is_unix() && target->port == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("target ", options.target,
                     " has port 0; a client needs one from 1 to 65535"));
  }
  if (options.tls.has_value()) {
    if (target->is_unix()) return NoTls(options.target);
    absl::Status status = CheckTls(*options.tls);
    if (!status.ok()) return status;
  }
  return MakeRemoteClient(*std::move(target), options);
}

}  // namespace packhouse
