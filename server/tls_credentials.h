// TLS of a server: which certificate it shows and which clients it serves.

#ifndef PACKHOUSE_SERVER_TLS_CREDENTIALS_H_
#define PACKHOUSE_SERVER_TLS_CREDENTIALS_H_

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "absl/status/statusor.h"
#include "net/tls/tls_watch.h"
#include "server/log.h"
#include "server/server.h"

namespace packhouse {

// The files of the options. INVALID_ARGUMENT where options lack one another, or
// a file cannot be used.
absl::StatusOr<TlsWatch*> WatchTls(const TlsServerOptions& options);

// Credentials of TLS 1.2 or later, with what `watch` has at each handshake.
// Where clients are named, every call of another one, to any service of the
// server, ends with PERMISSION_DENIED and the names that its certificate has.
// `log` may be null and must outlive the server.
std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(
    const TlsServerOptions& options, const TlsWatch& watch, Log* log);

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_TLS_CREDENTIALS_H_
