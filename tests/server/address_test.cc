#include "server/address.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ParseAddress, KeepsWhatIsWellFormed) {
  for (const std::string text :
       {"unix:/run/a.sock", "unix:a", "unix:with:colon", "127.0.0.1:0",
        "localhost:65535", "some-host.example.org:1", "[::1]:50051",
        "[::]:7"}) {
    absl::StatusOr<Address> address = ParseAddress(text);
    ASSERT_THAT(address, IsOk()) << text;
    EXPECT_EQ(address->ToString(), text);
    EXPECT_EQ(address->is_unix(), text.substr(0, 5) == "unix:");
  }
}

TEST(ParseAddress, RefusesWhatIsNot) {
  for (const std::string text : {"",
                                 "host",
                                 ":1",
                                 "host:",
                                 "unix:",
                                 "::1:1",
                                 "[::1]",
                                 "[::1]1",
                                 "[::1:1",
                                 "[no]:1",
                                 "[127.0.0.1]:1",
                                 "a b:1",
                                 "host:1x",
                                 "host:-1",
                                 "host:+1",
                                 "host: 1",
                                 "host:65536",
                                 "host:99999999999",
                                 "unix-abstract:a",
                                 "http://host:1/"}) {
    EXPECT_THAT(ParseAddress(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)))
        << text;
  }
}

TEST(ParseAddress, PathLimitIsTheKernels) {
  EXPECT_THAT(ParseAddress("unix:" + std::string(107, 'a')), IsOk());
  EXPECT_THAT(ParseAddress("unix:" + std::string(108, 'a')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("108 bytes"), HasSubstr("107"))));
  EXPECT_THAT(
      ParseAddress("unix:" + std::string(100000, 'a')),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("100000 bytes")));
}

TEST(Address, LocalOnlyIfNoOtherMachineReachesIt) {
  for (const std::string text :
       {"unix:/a", "localhost:1", "127.0.0.1:1", "127.255.0.3:1", "[::1]:1"}) {
    EXPECT_TRUE(ParseAddress(text)->is_local()) << text;
  }
  for (const std::string text :
       {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "128.0.0.1:1", "127.1:1",
        "localhost.example.org:1", "[::ffff:127.0.0.1]:1"}) {
    EXPECT_FALSE(ParseAddress(text)->is_local()) << text;
  }
}

}  // namespace
}  // namespace packhouse
