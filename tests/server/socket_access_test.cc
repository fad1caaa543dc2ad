#include "server/socket_access.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
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

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kFailed = absl::StatusCode::kFailedPrecondition;

struct stat StatusOf(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status;
}

// A group that this process may give files to, another than its own where that
// is possible.
gid_t SomeGroup() {
  if (geteuid() == 0) return 12345;  // nobody need know it
  gid_t groups[64];
  const int count = getgroups(64, groups);
  return count > 0 ? groups[count - 1] : getegid();
}

TEST(FindGroup, NamesAndNumbers) {
  const group* own = getgrgid(0);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(*FindGroup(own->gr_name), 0u);
  EXPECT_EQ(*FindGroup("0"), 0u);
  EXPECT_EQ(*FindGroup("4294967294"), 4294967294u);
}

TEST(FindGroup, WhatIsNone) {
  for (const char* name : {"", "no-such-group", "-1", "4294967295",
                           "99999999999999999999", "1 ", "0x1"}) {
    EXPECT_THAT(FindGroup(name),
                StatusIs(kInvalid, HasSubstr(std::string("\"") + name + "\"")))
        << name;
  }
  EXPECT_THAT(FindGroup(std::string(5000, 'x')),
              StatusIs(kInvalid, HasSubstr("xxx\"...")));
}

class SocketAccessTest : public testing::Test {
 protected:
  // A group that nobody may give files to but root.
  static SocketAccess ForeignGroup() {
    SocketAccess access;
    access.group = 12345;
    return access;
  }

  TempDir dir_;
  const std::string socket_ = dir_.File("folder/socket");
  const std::string folder_ = dir_.File("folder");
};

TEST_F(SocketAccessTest, FolderIsMadeForOwnerAndGroup) {
  SocketAccess access;
  access.group = SomeGroup();
  const mode_t old = umask(0077);  // which must not matter
  const absl::Status status = MakeSocketFolder(socket_, access);
  umask(old);
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(StatusOf(folder_).st_mode & 07777, 0770);
  EXPECT_EQ(StatusOf(folder_).st_gid, *access.group);
}

TEST_F(SocketAccessTest, FolderThatIsThereStaysAsItIs) {
  ASSERT_EQ(mkdir(folder_.c_str(), 0700), 0);
  const gid_t group = StatusOf(folder_).st_gid;
  SocketAccess access;
  access.group = SomeGroup();
  EXPECT_THAT(MakeSocketFolder(socket_, access), IsOk());
  EXPECT_EQ(StatusOf(folder_).st_mode & 07777, 0700);
  EXPECT_EQ(StatusOf(folder_).st_gid, group);
}

TEST_F(SocketAccessTest, OnlyTheLastFolderIsMade) {
  EXPECT_THAT(
      MakeSocketFolder(dir_.File("a/b/socket"), SocketAccess()),
      StatusIs(kFailed, AllOf(HasSubstr("unix:" + dir_.File("a/b/socket")),
                              HasSubstr("No such file"))));
  EXPECT_TRUE(std::filesystem::is_empty(dir_.File("")));
}

TEST_F(SocketAccessTest, SocketsInNoFolderOfTheirOwn) {
  EXPECT_THAT(MakeSocketFolder("socket", SocketAccess()), IsOk());
  EXPECT_THAT(MakeSocketFolder("/socket", SocketAccess()), IsOk());
}

TEST_F(SocketAccessTest, ModeAndGroup) {
  const std::string path = dir_.File("socket");
  std::ofstream(path).put('x');
  SocketAccess access;
  access.group = SomeGroup();
  for (const mode_t mode : {0660u, 0600u, 0666u, 0777u, 0u}) {
    access.mode = mode;
    ASSERT_THAT(SetSocketAccess(path, access), IsOk());
    EXPECT_EQ(StatusOf(path).st_mode & 07777, mode);
    EXPECT_EQ(StatusOf(path).st_gid, *access.group);
  }
}

TEST_F(SocketAccessTest, SaysWhatFailed) {
  EXPECT_THAT(SetSocketAccess(dir_.File("none"), SocketAccess()),
              StatusIs(kFailed, AllOf(HasSubstr(dir_.File("none")),
                                      HasSubstr("mode of the socket to 0660"),
                                      HasSubstr("No such file"))));
  EXPECT_THAT(SetSocketAccess(dir_.File("none"), ForeignGroup()),
              StatusIs(kFailed, AllOf(HasSubstr("to the group 12345"),
                                      HasSubstr("No such file"))));
}

// Or the next start would find it and take it as it is.
TEST_F(SocketAccessTest, FolderWithoutItsGroupIsRemoved) {
  if (geteuid() == 0) GTEST_SKIP() << "root may give files to any group";
  EXPECT_THAT(MakeSocketFolder(socket_, ForeignGroup()),
              StatusIs(kFailed, HasSubstr("to the group 12345")));
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

}  // namespace
}  // namespace packhouse
