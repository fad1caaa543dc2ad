#include "tests/client/test_server.h"

#include <cstdlib>
#include <iostream>

namespace packhouse {

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
