// Certificates for tests, made by the openssl program in a folder.

#ifndef PACKHOUSE_TESTS_PKI_H_
#define PACKHOUSE_TESTS_PKI_H_

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "tests/temp_dir.h"

namespace packhouse {

// An authority, and certificates that it signs. A certificate is NAME.pem, its
// key NAME.key; the authority's is ca.pem.
class Pki {
 public:
  Pki() {
    Run("req -x509 -nodes -newkey " + Key() + " -keyout " + File("ca.key") +
        " -out " + File("ca.pem") + " -days 2 -subj /CN=authority");
  }

  // `alternative_names` as openssl takes them, "DNS:a,URI:b"; empty for none.
  void Issue(const std::string& name, const std::string& common_name,
             const std::string& alternative_names = "") {
    std::string request = "req -nodes -newkey " + Key() + " -keyout " +
                          File(name + ".key") + " -out " + File("request") +
                          " -subj /CN=" + common_name;
    if (!alternative_names.empty()) {
      request += " -addext subjectAltName=" + alternative_names;
    }
    Run(request);
    Run("x509 -req -in " + File("request") + " -CA " + File("ca.pem") +
        " -CAkey " + File("ca.key") + " -days 2 -copy_extensions copy -out " +
        File(name + ".pem"));
  }

  // Runs the openssl program, which must succeed.
  void Run(const std::string& arguments) {
    const std::string command = "openssl " + arguments + " >/dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  std::string File(const std::string& name) const { return dir_.File(name); }

 private:
  static std::string Key() { return "ec -pkeyopt ec_paramgen_curve:P-256"; }

  TempDir dir_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_PKI_H_
