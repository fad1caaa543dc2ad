#include "tests/client/test_server.h"

#include <unistd.h>

#include <iostream>

namespace packhouse {

TempDir::TempDir() {
  const char* parent = std::getenv("TMPDIR");
  path_ =
      std::string(parent != nullptr ? parent : "/tmp") + "/packhouse_XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) {
    std::cerr << "cannot make a directory " << path_ << std::endl;
    std::abort();
  }
}

TempDir::~TempDir() { rmdir(path_.c_str()); }

std::unique_ptr<Server> StartServer(const std::string& address,
                                    const SessionLimits& limits) {
  ServerOptions options;
  options.listen = {address};
  options.limits = limits;
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options);
  if (!server.ok()) {
    std::cerr << server.status() << std::endl;
    std::abort();
  }
  return *std::move(server);
}

}  // namespace packhouse
