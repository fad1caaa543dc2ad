// A packhoused in the test's own process, on a Unix socket of its own.

#ifndef PACKHOUSE_TESTS_CLIENT_TEST_SERVER_H_
#define PACKHOUSE_TESTS_CLIENT_TEST_SERVER_H_

#include <cstdlib>
#include <memory>
#include <string>

#include "server/server.h"

namespace packhouse {

// A new empty directory, gone with the object. Its files must be gone before.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Serves on `address`; a server that does not start ends the test program.
std::unique_ptr<Server> StartServer(const std::string& address,
                                    const SessionLimits& limits = {});

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_CLIENT_TEST_SERVER_H_
