// Every guarantee's checker accepts what is right and names what is not.

#include "tests/simulation/checkers.h"

#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/packs.h"

namespace packhouse {
namespace {

using ::testing::StartsWith;

// Five sequences, a flush after the third: {1}, {0, 2} and then {3}, {4}.
History Right() {
  History history;
  history.spec = MakeSpec(10, 4);
  history.lengths = {3, 9, 7, 6, 5};
  history.flushes = {3};
  history.lives = {{1, MakePacks({{1}, {0, 2}, {3}, {4}})}};
  history.complete = true;
  return history;
}

TEST(CheckersTest, AcceptWhatIsRight) {
  EXPECT_EQ(FindViolation(Right()), "");
  History unfinished = Right();
  unfinished.complete = false;
  unfinished.lives[0].taken = MakePacks({{1}});
  EXPECT_EQ(FindViolation(unfinished), "");
  // A second life repeats one pack of the first, as its state said.
  History resumed = Right();
  resumed.lives = {{1, MakePacks({{1}, {0, 2}})},
                   {2, MakePacks({{0, 2}, {3}, {4}})}};
  EXPECT_EQ(FindViolation(resumed), "");
  resumed.peaks = {{"memory", 5, 5}};
  EXPECT_EQ(FindViolation(resumed), "");
}

TEST(CheckersTest, NameWhatIsBroken) {
  struct Row {
    std::string violation;
    std::function<void(History*)> spoil;
  };
  const auto packs = [](std::vector<std::vector<uint64_t>> lists) {
    return [lists](History* history) {
      history->lives[0].taken = MakePacks(lists);
    };
  };
  const std::vector<Row> rows = {
      {"Conserved: sequence 4", packs({{1}, {0, 2}, {3}})},
      {"Conserved: sequence 1", packs({{1}, {0, 2}, {3}, {4}, {1}})},
      {"Conserved: 5 units are packed, 4",
       [](History* history) {
         history->spec.overlong = Overlong::kDrop;
         history->lengths[4] = 11;
       }},
      {"Fits: pack 0 takes 12", packs({{0, 1}, {2}, {3}, {4}})},
      {"Fits: pack 1 has 2 units",
       [](History* history) { history->spec.max_sequences_per_pack = 1; }},
      {"Ordered: the ordinals of pack 2", packs({{1}, {2, 0}, {3}, {4}})},
      {"Deterministic", packs({{0, 2}, {1}, {3}, {4}})},
      {"Deterministic", packs({{1}, {0}, {2}, {3}, {4}})},
      {"Ordered: a life began with pack 3",
       [](History* history) {
         history->complete = false;
         history->lives = {{1, MakePacks({{1}})}, {3, MakePacks({{3}})}};
       }},
      {"Resumable: a life that began with pack 1",
       [](History* history) {
         history->lives = {{1, MakePacks({{0, 2}})},
                           {1, history->lives[0].taken}};
       }},
      {"Bounded: memory came to 6, stated are 5",
       [](History* history) {
         history->peaks = {{"memory", 6, 5}};
       }},
  };
  for (const Row& row : rows) {
    History history = Right();
    row.spoil(&history);
    EXPECT_THAT(FindViolation(history), StartsWith(row.violation));
  }
}

}  // namespace
}  // namespace packhouse
