// A packhoused in the test's own process, on a Unix socket of its own.

#ifndef PACKHOUSE_TESTS_CLIENT_TEST_SERVER_H_
#define PACKHOUSE_TESTS_CLIENT_TEST_SERVER_H_

#include <memory>
#include <string>

#include "server/server.h"

namespace packhouse {

// Serves on `address`; a server that does not start ends the test program.
std::unique_ptr<Server> StartServer(const std::string& address,
                                    const SessionLimits& limits = {});

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_CLIENT_TEST_SERVER_H_
