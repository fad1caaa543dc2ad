#include "net/tls/tls_watch.h"

#include <fcntl.h>
#include <grpc/grpc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "net/tls/tls_files.h"

namespace packhouse {
namespace {

// How often gRPC looks at the copies: the shortest that it takes.
constexpr unsigned kCopyRefreshSeconds = 1;

absl::Status SystemError(absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// A file in memory, under one path whatever is in it.
class Copy {
 public:
  // Replaces what is in it, in one step: whoever has it open reads on in the
  // old one.
  absl::Status Set(const std::string& bytes) {
    if (bytes == bytes_) return absl::OkStatus();
    const int file = memfd_create("packhouse-tls", MFD_CLOEXEC);
    if (file < 0) return SystemError("no memory for a copy of a TLS file");
    absl::Status status;
    if (write(file, bytes.data(), bytes.size()) !=
        static_cast<ssize_t>(bytes.size())) {
      status = SystemError("cannot copy a TLS file");
    } else if (file_ < 0) {
      file_ = file;
      bytes_ = bytes;
      return access(path().c_str(), R_OK) == 0
                 ? absl::OkStatus()
                 : SystemError("the copies of TLS files need /proc");
    } else if (dup3(file, file_, O_CLOEXEC) < 0) {
      status = SystemError("cannot replace the copy of a TLS file");
    } else {
      bytes_ = bytes;
    }
    close(file);
    return status;
  }

  // Empty before the first Set.
  std::string path() const {
    return file_ < 0 ? "" : absl::StrCat("/proc/self/fd/", file_);
  }

 private:
  int file_ = -1;  // kept to the end of the process
  std::string bytes_;
};

class Watch final : public TlsWatch {
 public:
  explicit Watch(TlsPaths paths) : paths_(std::move(paths)) {}

  // Once, when the copies are there.
  void Start(absl::Duration refresh) {
    grpc_init();  // never undone, as the provider is never destroyed
    provider_ =
        std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
            key_.path(), certificates_.path(), authorities_.path(),
            kCopyRefreshSeconds);
    std::thread([this, refresh] {
      for (;;) {
        absl::SleepFor(refresh);
        Refresh().IgnoreError();  // state() tells
      }
    }).detach();
  }

  absl::Status Refresh() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return state_ = CopyFiles();
  }

  std::shared_ptr<grpc::experimental::CertificateProviderInterface> provider()
      const override {
    return provider_;
  }

  absl::Status state() const override ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return state_;
  }

 private:
  absl::Status CopyFiles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    TlsIdentity identity;
    std::string authorities;
    // All before the first is taken: they are replaced together.
    if (!paths_.cert_file.empty()) {
      auto read = ReadIdentity(paths_.cert_file, paths_.key_file);
      if (!read.ok()) return read.status();
      identity = *std::move(read);
    }
    if (!paths_.ca_file.empty()) {
      auto read = ReadAuthorities(paths_.ca_file);
      if (!read.ok()) return read.status();
      authorities = *std::move(read);
    }
    // gRPC reads again where one of two files became another meanwhile, so that
    // it never has the key without its certificate.
    absl::Status status = key_.Set(identity.key);
    if (status.ok()) status = certificates_.Set(identity.certificates);
    if (status.ok()) status = authorities_.Set(authorities);
    return status;
  }

  const TlsPaths paths_;
  std::shared_ptr<grpc::experimental::CertificateProviderInterface> provider_;
  mutable absl::Mutex mutex_;
  absl::Status state_ ABSL_GUARDED_BY(mutex_);
  Copy key_;           // written under the mutex
  Copy certificates_;  // likewise
  Copy authorities_;   // likewise
};

}  // namespace

absl::StatusOr<TlsWatch*> TlsWatch::Of(const TlsPaths& paths,
                                       uint32_t refresh_seconds) {
  using Key = std::tuple<std::string, std::string, std::string, uint32_t>;
  static auto& mutex = *new absl::Mutex;
  static auto& watches = *new std::map<Key, std::unique_ptr<Watch>>;
  absl::MutexLock lock(&mutex);
  const Key key(paths.cert_file, paths.key_file, paths.ca_file,
                refresh_seconds);
  const auto found = watches.find(key);
  if (found != watches.end()) {
    absl::Status status = found->second->Refresh();
    if (!status.ok()) return status;
    return found->second.get();
  }
  auto watch = std::make_unique<Watch>(paths);
  absl::Status status = watch->Refresh();
  if (!status.ok()) return status;
  watch->Start(absl::Seconds(refresh_seconds));
  return watches.emplace(key, std::move(watch)).first->second.get();
}

}  // namespace packhouse
