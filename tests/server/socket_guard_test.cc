#include "server/socket_guard.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_dir.h"

namespace packhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

// A socket that is bound to `path` and listens.
int Listen(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
            0);
  EXPECT_EQ(listen(fd, 1), 0);
  return fd;
}

class SocketGuardTest : public testing::Test {
 protected:
  bool Exists(const std::string& path) {
    return std::filesystem::exists(std::filesystem::symlink_status(path));
  }

  TempDir dir_;
  const std::string path_ = dir_.File("socket");
};

TEST_F(SocketGuardTest, OneHolderAtATime) {
  {
    absl::StatusOr<SocketGuard> first = SocketGuard::Acquire(path_);
    ASSERT_THAT(first, IsOk());
    EXPECT_THAT(SocketGuard::Acquire(path_),
                StatusIs(kRefused, AllOf(HasSubstr(path_),
                                         HasSubstr("another packhoused"))));
    const SocketGuard moved = *std::move(first);
    EXPECT_THAT(SocketGuard::Acquire(path_), StatusIs(kRefused, testing::_));
  }
  EXPECT_FALSE(Exists(path_ + ".lock"));
  EXPECT_THAT(SocketGuard::Acquire(path_), IsOk());
}

TEST_F(SocketGuardTest, StaleSocketAndLockFileAreNoObstacle) {
  close(Listen(path_));
  std::ofstream(path_ + ".lock").flush();
  ASSERT_TRUE(Exists(path_));
  EXPECT_THAT(SocketGuard::Acquire(path_), IsOk());
  EXPECT_FALSE(Exists(path_));
}

TEST_F(SocketGuardTest, LiveSocketWithoutLockIsLeftAlone) {
  const int fd = Listen(path_);
  EXPECT_THAT(SocketGuard::Acquire(path_),
              StatusIs(kRefused,
                       AllOf(HasSubstr(path_), HasSubstr("another process"))));
  EXPECT_TRUE(Exists(path_));
  close(fd);
}

TEST_F(SocketGuardTest, WhatIsNoSocketIsLeftAlone) {
  std::ofstream(path_) << "precious";
  EXPECT_THAT(
      SocketGuard::Acquire(path_),
      StatusIs(kRefused, AllOf(HasSubstr(path_), HasSubstr("not a socket"))));
  std::string content;
  std::ifstream(path_) >> content;
  EXPECT_EQ(content, "precious");
  EXPECT_FALSE(Exists(path_ + ".lock"));

  const std::string folder = dir_.File("folder");
  std::filesystem::create_directory(folder);
  EXPECT_THAT(SocketGuard::Acquire(folder),
              StatusIs(kRefused, HasSubstr("not a socket")));

  // A link is not followed, even to a stale socket.
  close(Listen(dir_.File("stale")));
  const std::string link = dir_.File("link");
  std::filesystem::create_symlink(dir_.File("stale"), link);
  EXPECT_THAT(SocketGuard::Acquire(link),
              StatusIs(kRefused, HasSubstr("not a socket")));
  EXPECT_TRUE(Exists(link));
}

TEST_F(SocketGuardTest, MissingFolder) {
  const std::string path = dir_.File("missing/socket");
  EXPECT_THAT(
      SocketGuard::Acquire(path),
      StatusIs(kRefused, AllOf(HasSubstr(path), HasSubstr("No such file"))));
}

// Holders come and go, and each removes the lock file: there must never be two.
TEST_F(SocketGuardTest, NeverTwoHoldersWhileLockFilesComeAndGo) {
  std::atomic<int> holders{0};
  std::atomic<int> acquired{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        absl::StatusOr<SocketGuard> guard = SocketGuard::Acquire(path_);
        if (!guard.ok()) continue;
        ++acquired;
        EXPECT_EQ(++holders, 1);
        --holders;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(acquired, 0);
}

}  // namespace
}  // namespace packhouse
