// The files of TLS as gRPC is to see them: always sound ones.
//
// Files are replaced while they are in use, and not always in one step: a copy
// is empty at first, a new certificate may lie beside an old key. gRPC's own
// watcher takes them as they are. So it is shown copies instead, files without
// a name in memory, and a thread of ours replaces them by what the real files
// have whenever that is sound.

#ifndef PACKHOUSE_NET_TLS_TLS_WATCH_H_
#define PACKHOUSE_NET_TLS_TLS_WATCH_H_

#include <grpcpp/security/tls_certificate_provider.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace packhouse {

// Paths. The first two are both empty, or none is.
struct TlsPaths {
  std::string cert_file;
  std::string key_file;
  std::string ca_file;
};

// Thread-safe.
class TlsWatch {
 public:
  // Of files that are sound now; the errors are those of ReadIdentity and
  // ReadAuthorities, and INTERNAL where the system gives no memory for copies.
  //
  // There is one for each set of paths, until the process ends: nothing says
  // when gRPC has read a copy for the last time.
  static absl::StatusOr<TlsWatch*> Of(const TlsPaths& paths,
                                      uint32_t refresh_seconds);

  virtual ~TlsWatch() = default;

  // Has what the files had when they were last sound.
  virtual std::shared_ptr<grpc::experimental::CertificateProviderInterface>
  provider() const = 0;

  // OK, or why the files are not taken as they now are.
  virtual absl::Status state() const = 0;
};

}  // namespace packhouse

#endif  // PACKHOUSE_NET_TLS_TLS_WATCH_H_
