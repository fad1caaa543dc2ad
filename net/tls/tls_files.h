// Certificates and keys, looked at before they are used.
//
// gRPC takes such files as they are: it only logs what is wrong with them, so
// that a typo in a path shows as handshakes that fail, and it ends the process
// where one is empty.

#ifndef PACKHOUSE_NET_TLS_TLS_FILES_H_
#define PACKHOUSE_NET_TLS_TLS_FILES_H_

#include <string>

#include "absl/status/statusor.h"

namespace packhouse {

// PEM texts.
struct TlsIdentity {
  std::string certificates;
  std::string key;
};

// What is in the files, if `cert_file` has certificates in PEM form, the first
// of which belongs to the one private key in `key_file`; the others are its
// issuers. INVALID_ARGUMENT otherwise, with the file at fault and the reason. A
// key that needs a password is refused.
absl::StatusOr<TlsIdentity> ReadIdentity(const std::string& cert_file,
                                         const std::string& key_file);

// What is in `ca_file`, if that is one or more certificates in PEM form.
// INVALID_ARGUMENT otherwise, as above.
absl::StatusOr<std::string> ReadAuthorities(const std::string& ca_file);

}  // namespace packhouse

#endif  // PACKHOUSE_NET_TLS_TLS_FILES_H_
