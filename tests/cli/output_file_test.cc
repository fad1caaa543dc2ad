#include "client/cli/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/files.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class OutputFileTest : public testing::Test {
 protected:
  OutputFile Open(const std::string& path) {
    absl::StatusOr<OutputFile> file = OutputFile::Open(path);
    EXPECT_THAT(file, IsOk());
    return *std::move(file);
  }

  TempDir folder_;
  const std::string path_ = folder_.File("packs");
};

TEST_F(OutputFileTest, AppearsWithCommit) {
  OutputFile file = Open(path_);
  ASSERT_THAT(file.Write("one "), IsOk());
  ASSERT_THAT(file.Write("two"), IsOk());
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_THAT(file.Commit(), IsOk());
  EXPECT_EQ(ReadFile(path_), "one two");
  EXPECT_THAT(Names(folder_.File("")), ElementsAre("packs"));
}

TEST_F(OutputFileTest, LeavesNothingWithoutCommit) {
  {
    OutputFile file = Open(path_);
    ASSERT_THAT(file.Write("one"), IsOk());
  }
  EXPECT_THAT(Names(folder_.File("")), IsEmpty());
}

TEST_F(OutputFileTest, OlderFileStaysUntilCommit) {
  WriteFile(path_, "old");
  {
    OutputFile file = Open(path_);
    ASSERT_THAT(file.Write("new"), IsOk());
    EXPECT_EQ(ReadFile(path_), "old");
  }
  EXPECT_EQ(ReadFile(path_), "old");
  OutputFile file = Open(path_);
  ASSERT_THAT(file.Write("new"), IsOk());
  ASSERT_THAT(file.Commit(), IsOk());
  EXPECT_EQ(ReadFile(path_), "new");
}

TEST_F(OutputFileTest, ModeIsThatOfANewFile) {
  const mode_t mask = umask(027);
  OutputFile file = Open(path_);
  ASSERT_THAT(file.Commit(), IsOk());
  umask(mask);
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(OutputFileTest, LinkStaysALink) {
  const std::string link = folder_.File("link");
  WriteFile(path_, "old");
  std::filesystem::create_symlink(path_, link);
  OutputFile file = Open(link);
  ASSERT_THAT(file.Write("new"), IsOk());
  ASSERT_THAT(file.Commit(), IsOk());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(ReadFile(path_), "new");
}

TEST_F(OutputFileTest, WhatIsLeftOfAKilledRunIsNoObstacle) {
  // A run that was killed may have had our process id.
  const std::string left = path_ + "." + std::to_string(getpid()) + ".0.tmp";
  WriteFile(left, "left");
  OutputFile file = Open(path_);
  ASSERT_THAT(file.Write("new"), IsOk());
  ASSERT_THAT(file.Commit(), IsOk());
  EXPECT_EQ(ReadFile(path_), "new");
  EXPECT_EQ(ReadFile(left), "left");
}

TEST_F(OutputFileTest, DeviceIsWrittenDirectly) {
  ASSERT_THAT(CheckOutputPath("/dev/null"), IsOk());
  OutputFile null = Open("/dev/null");
  ASSERT_THAT(null.Write("x"), IsOk());
  ASSERT_THAT(null.Commit(), IsOk());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));

  OutputFile full = Open("/dev/full");
  EXPECT_THAT(full.Write("x"), StatusIs(absl::StatusCode::kUnknown,
                                        HasSubstr("cannot write /dev/full")));
}

TEST_F(OutputFileTest, CheckChangesNothing) {
  EXPECT_THAT(CheckOutputPath(path_), IsOk());
  EXPECT_THAT(Names(folder_.File("")), IsEmpty());
  EXPECT_THAT(CheckOutputPath("-"), IsOk());
  EXPECT_THAT(CheckOutputPath("no_folder_in_this_name"), IsOk());
}

TEST_F(OutputFileTest, CheckRefuses) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(CheckOutputPath(folder_.File("")),
              StatusIs(kInvalid, HasSubstr("Is a directory")));
  EXPECT_THAT(CheckOutputPath(folder_.File("none/packs")),
              StatusIs(kInvalid, HasSubstr("/none: No such file")));
  WriteFile(path_, "x");
  EXPECT_THAT(CheckOutputPath(path_ + "/packs"),
              StatusIs(kInvalid, HasSubstr("Not a directory")));
  EXPECT_THAT(CheckOutputPath(""), StatusIs(kInvalid, testing::_));
  EXPECT_THAT(Names(folder_.File("")), UnorderedElementsAre("packs"));
}

}  // namespace
}  // namespace packhouse
