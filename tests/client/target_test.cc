#include "client/target.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using testing::HasSubstr;

TEST(Target, KnownForms) {
  const struct {
    std::string name, uri;
    bool local;
  } kCases[] = {
      {"unix:/run/packhouse.sock", "unix:/run/packhouse.sock", true},
      {"unix:///run/packhouse.sock", "unix:/run/packhouse.sock", true},
      {"unix:packhouse.sock", "unix:packhouse.sock", true},
      {"unix:/a b/100%/s", "unix:/a%20b/100%25/s", true},
      {"localhost:80", "dns:///localhost:80", true},
      {"127.0.0.1:80", "dns:///127.0.0.1:80", true},
      {"127.8.0.1:80", "dns:///127.8.0.1:80", true},
      {"[::1]:80", "ipv6:%5B::1%5D:80", true},
      {"10.0.0.1:65535", "dns:///10.0.0.1:65535", false},
      {"node-7.cluster_a.local:1", "dns:///node-7.cluster_a.local:1", false},
      {"[fe80::2]:80", "ipv6:%5Bfe80::2%5D:80", false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const absl::StatusOr<Target> target = ParseTarget(c.name);
    ASSERT_THAT(target, IsOk());
    EXPECT_EQ(target->name, c.name);
    EXPECT_EQ(target->uri, c.uri);
    EXPECT_EQ(target->local, c.local);
  }
}

TEST(Target, AnythingElseIsNamed) {
  for (const std::string name :
       {"", "unix:", "localhost", "localhost:", "localhost:0",
        "localhost:65536", "localhost:-1", "localhost:+1", "localhost:http",
        ":80", "::1:80", "[::1]", "[::1:80", "[localhost]:80", "a b:80",
        "http://localhost:80", "dns:///localhost:80", "unix-abstract:x"}) {
    EXPECT_THAT(ParseTarget(name),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("target \"" + name + "\"")));
  }
}

TEST(Target, PathsThatTheSystemCannotTake) {
  EXPECT_THAT(ParseTarget("unix:/" + std::string(106, 'x')), IsOk());
  EXPECT_THAT(ParseTarget("unix:/" + std::string(107, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the path has 108 bytes")));
  EXPECT_THAT(ParseTarget("unix:/" + std::string(100000, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("xxx")));
}

}  // namespace
}  // namespace packhouse
