#ifndef PACKHOUSE_TESTS_TEMP_DIR_H_
#define PACKHOUSE_TESTS_TEMP_DIR_H_

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "gtest/gtest.h"

namespace packhouse {

// A new folder with a short path, as Unix sockets need; removed with the
// object, whatever is in it.
class TempDir {
 public:
  TempDir() : path_("/tmp/packhouse_test_XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) {
      ADD_FAILURE() << "no folder " << path_;
    }
  }
  ~TempDir() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    EXPECT_FALSE(error) << path_ << ": " << error.message();
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_TEMP_DIR_H_
