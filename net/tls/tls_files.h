// Certificates and keys, looked at before they are used.
//
// gRPC reads such files in the background and only logs what is wrong with
// them, so that a typo in a path shows as handshakes that fail. Whoever starts
// with them asks here first.

#ifndef PACKHOUSE_NET_TLS_TLS_FILES_H_
#define PACKHOUSE_NET_TLS_TLS_FILES_H_

#include <string>

#include "absl/status/status.h"

namespace packhouse {

// OK if `cert_file` has certificates in PEM form, the first of which belongs to
// the one private key in `key_file`; the others are its issuers.
// INVALID_ARGUMENT otherwise, with the file at fault and the reason. A key that
// needs a password is refused.
absl::Status CheckIdentityFiles(const std::string& cert_file,
                                const std::string& key_file);

// OK if `ca_file` has one or more certificates in PEM form. INVALID_ARGUMENT
// otherwise, as above.
absl::Status CheckAuthorityFile(const std::string& ca_file);

}  // namespace packhouse

#endif  // PACKHOUSE_NET_TLS_TLS_FILES_H_
