#include "net/address.h"

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
       {"unix:/run/a.sock", "unix:///run/a.sock", "unix:a", "unix:with:colon",
        "127.0.0.1:0", "localhost:65535", "some-host.example.org:1",
        "node-7.cluster_a.local:1", "[::1]:50051", "[::]:7"}) {
    const absl::StatusOr<Address> address = ParseAddress(text);
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
                                 "host:1 ",
                                 "host:http",
                                 "host:65536",
                                 "host:99999999999",
                                 "unix-abstract:a",
                                 "dns:///host:1",
                                 "http://host:1"}) {
    EXPECT_THAT(ParseAddress(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("address \"" + text + "\"")));
  }
}

TEST(ParseAddress, RefusesAZeroByte) {
  for (const std::string text : {"unix:/a", "localhost:1", "[::1]:1"}) {
    std::string spoilt = text;
    spoilt.insert(text.size() - 2, 1, '\0');
    EXPECT_THAT(
        ParseAddress(spoilt),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\\000")));
  }
}

TEST(ParseAddress, PathLimitIsTheKernels) {
  EXPECT_THAT(ParseAddress("unix:/" + std::string(106, 'a')), IsOk());
  EXPECT_THAT(ParseAddress("unix:/" + std::string(107, 'a')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("108 bytes"), HasSubstr("107"))));
}

TEST(ParseAddress, ErrorsAreShort) {
  const absl::Status status =
      ParseAddress("unix:/" + std::string(100000, 'a')).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("100001 bytes"),
                                     HasSubstr("unix:/aaa"))));
  EXPECT_LT(status.message().size(), 2000);
}

TEST(Address, LocalOnlyIfNoOtherMachineReachesIt) {
  for (const std::string text :
       {"unix:/a", "localhost:1", "127.0.0.1:1", "127.255.0.3:1", "[::1]:1",
        "[0:0:0:0:0:0:0:1]:1"}) {
    EXPECT_TRUE(ParseAddress(text)->is_local()) << text;
  }
  for (const std::string text :
       {"0.0.0.0:1", "[::]:1", "[fe80::2]:1", "10.0.0.1:1", "128.0.0.1:1",
        "127.1:1", "localhost.example.org:1", "[::ffff:127.0.0.1]:1"}) {
    EXPECT_FALSE(ParseAddress(text)->is_local()) << text;
  }
}

TEST(Address, GrpcUri) {
  const struct {
    std::string text, uri;
  } kCases[] = {
      {"unix:/run/packhouse.sock", "unix:/run/packhouse.sock"},
      {"unix:///run/packhouse.sock", "unix:/run/packhouse.sock"},
      {"unix:packhouse.sock", "unix:packhouse.sock"},
      {"unix:/a b/100%/s", "unix:/a%20b/100%25/s"},
      {"localhost:80", "dns:///localhost:80"},
      {"10.0.0.1:65535", "dns:///10.0.0.1:65535"},
      {"[::1]:80", "dns:///%5b::1%5d:80"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(ParseAddress(c.text)->ToGrpcUri(), c.uri);
  }
}

}  // namespace
}  // namespace packhouse
