// What the tests of the sessions share.

#ifndef PACKHOUSE_TESTS_SESSION_SESSION_TESTING_H_
#define PACKHOUSE_TESTS_SESSION_SESSION_TESTING_H_

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/packs.h"
#include "tests/status_matchers.h"

namespace packhouse {

// A text that has all of `parts` in it.
inline testing::Matcher<const std::string&> Mentions(
    const std::vector<std::string>& parts) {
  std::vector<testing::Matcher<const std::string&>> matchers;
  for (const std::string& part : parts) {
    matchers.push_back(testing::HasSubstr(part));
  }
  return testing::AllOfArray(matchers);
}

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_SESSION_SESSION_TESTING_H_
