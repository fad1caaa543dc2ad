// What the tests of the sessions share.

#ifndef PACKHOUSE_TESTS_SESSION_SESSION_TESTING_H_
#define PACKHOUSE_TESTS_SESSION_SESSION_TESTING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"
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

inline PackSpec MakeSpec(int64_t capacity_tokens, int64_t window_sequences) {
  PackSpec spec;
  spec.capacity_tokens = capacity_tokens;
  spec.window_sequences = window_sequences;
  return spec;
}

inline Packs MakePacks(const std::vector<std::vector<uint64_t>>& lists) {
  Packs packs;
  for (const std::vector<uint64_t>& list : lists) {
    packs.ordinals.insert(packs.ordinals.end(), list.begin(), list.end());
    packs.offsets.push_back(packs.ordinals.size());
  }
  return packs;
}

// `packs` as a list of lists, so that a failed comparison can be read.
inline std::vector<std::vector<uint64_t>> Lists(const Packs& packs) {
  std::vector<std::vector<uint64_t>> lists;
  for (size_t i = 0; i < packs.size(); ++i) {
    lists.emplace_back(packs[i].begin(), packs[i].end());
  }
  return lists;
}

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_SESSION_SESSION_TESTING_H_
