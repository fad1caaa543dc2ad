#include "net/small_file.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_dir.h"

namespace packhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr auto kRefused = absl::StatusCode::kInvalidArgument;

class SmallFileTest : public testing::Test {
 protected:
  std::string Write(const std::string& bytes) const {
    std::ofstream(path_) << bytes;
    return path_;
  }

  TempDir dir_;
  const std::string path_ = dir_.File("file");
};

TEST_F(SmallFileTest, BytesAsTheyAre) {
  for (const std::string& bytes : {std::string(), std::string("a\0\n\xff", 4),
                                   std::string(kMaxSmallFileBytes, 'x')}) {
    EXPECT_EQ(*ReadSmallFile(Write(bytes)), bytes);
  }
}

TEST_F(SmallFileTest, WhatIsNoSmallFile) {
  EXPECT_THAT(
      ReadSmallFile(path_),
      StatusIs(kRefused, AllOf(HasSubstr(path_), HasSubstr("No such file"))));
  EXPECT_THAT(ReadSmallFile(dir_.File("")),
              StatusIs(kRefused, HasSubstr("not a regular file")));
  EXPECT_THAT(ReadSmallFile(Write(std::string(kMaxSmallFileBytes + 1, 'x'))),
              StatusIs(kRefused, HasSubstr("more than 1048576 bytes")));
  const std::string pipe = dir_.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(ReadSmallFile(pipe),
              StatusIs(kRefused, HasSubstr("not a regular file")));
  EXPECT_THAT(ReadSmallFile(std::string(5000, 'x')),
              StatusIs(kRefused, HasSubstr("xxx...")));
}

}  // namespace
}  // namespace packhouse
