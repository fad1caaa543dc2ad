// The commands advise and bench, as users call them.

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/files.h"
#include "tests/cli/run.h"

namespace packhouse {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class AdviseTest : public testing::Test {
 protected:
  AdviseTest() { WriteFile(lengths_, "5\n3\n4\n4\n8\n"); }

  Result Advise(std::vector<std::string> more) {
    more.insert(more.begin(), {"advise", lengths_});
    return Packhouse(more);
  }

  json Report(std::vector<std::string> more) {
    more.push_back("--json");
    const Result result = Advise(more);
    EXPECT_EQ(result.code, 0) << result.err;
    return json::parse(result.out);
  }

  TempDir folder_;
  const std::string lengths_ = folder_.File("lengths.txt");
  const std::string page_ = folder_.File("page.html");
};

TEST_F(AdviseTest, TextJsonAndPage) {
  const Result text = Advise({"--html", page_});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("5 sequences, 24 tokens"),
                    HasSubstr("Capacity 8\n"), HasSubstr("Capacity 16\n"),
                    HasSubstr("--capacity 8 --algorithm spfhp")));
  EXPECT_THAT(ReadFile(page_),
              AllOf(StartsWith("<!DOCTYPE html>"),
                    HasSubstr("lengths.txt</h1>"), HasSubstr("</html>\n")));
  EXPECT_EQ(Report({"--html", page_})["recommended"]["capacity"], 8);
}

TEST_F(AdviseTest, ListsOfNumbersInEveryForm) {
  const std::vector<std::vector<std::string>> forms = {
      {"--capacity", "8", "16", "--window", "2", "4"},
      {"--capacity", "8", "--capacity", "16", "--window", "2", "--window", "4"},
      {"--capacity", "8,16", "--window", "4,2"},
      {"--capacity=8", "--capacity=16", "--window=2", "--window=4"}};
  for (const std::vector<std::string>& form : forms) {
    const json report = Report(form);
    ASSERT_EQ(report["capacities"].size(), 2);
    EXPECT_EQ(report["capacities"][0]["capacity"], 8);
    EXPECT_EQ(report["capacities"][1]["capacity"], 16);
    EXPECT_EQ(report["windows"], json({2, 4}));
  }
  // The list ends where a word is no number.
  const Result before = Packhouse({"advise", "--capacity", "8", lengths_});
  EXPECT_EQ(before.code, 0) << before.err;
}

TEST_F(AdviseTest, LimitsReachThePackers) {
  const json report =
      Report({"--capacity", "16", "--max-sequences", "1", "--alignment", "2",
              "--overlong", "split", "--empty", "drop"});
  EXPECT_EQ(report["max_sequences"], 1);
  EXPECT_EQ(report["alignment"], 2);
  EXPECT_EQ(report["overlong"], "split");
  EXPECT_EQ(report["empty"], "drop");
  const json& capacity = report["capacities"][0];
  EXPECT_EQ(capacity["packs_by_count"], 5);
  EXPECT_EQ(capacity["limit_binds"], true);
  for (const json& row : capacity["rows"]) EXPECT_EQ(row["packs"], 5);
}

TEST_F(AdviseTest, PlanStillRefusesOverlongSequences) {
  EXPECT_EQ(Advise({"--capacity", "5"}).code, 0);
  EXPECT_THAT(Packhouse({"plan", lengths_, "--capacity", "5"}),
              Refused(2, HasSubstr("ordinal 4 has length 8")));
}

TEST_F(AdviseTest, TheOptionsItRecommendsWork) {
  for (const std::string capacity : {"5", "8", "100"}) {
    const json report = Report({"--capacity", capacity});
    std::istringstream options(
        report["recommended"]["options"].get<std::string>());
    std::vector<std::string> args = {"plan", lengths_, "--json"};
    for (std::string word; options >> word;) args.push_back(word);
    const Result plan = Packhouse(args);
    ASSERT_EQ(plan.code, 0) << plan.err;
    const json& advised = report["capacities"][0];
    EXPECT_EQ(
        json::parse(plan.out)["packs"],
        advised["rows"][advised["recommended"]["row"].get<size_t>()]["packs"]);
  }
}

TEST_F(AdviseTest, BadInput) {
  EXPECT_THAT(Packhouse({"advise"}), Refused(2, HasSubstr("LENGTHS")));
  EXPECT_THAT(Packhouse({"advise", folder_.File("nobody")}),
              Refused(2, HasSubstr("No such file")));
  const std::string empty = folder_.File("empty.txt");
  WriteFile(empty, "\n");
  EXPECT_THAT(Packhouse({"advise", empty}), Refused(2, HasSubstr("empty.txt")));
  EXPECT_THAT(Advise({"--capacity", "2"}),
              Refused(2, HasSubstr("5 of 5 are over-long at capacity 2")));
  EXPECT_THAT(Advise({"--capacity", "0"}), Refused(2, HasSubstr("--capacity")));
  EXPECT_THAT(Advise({"--window", "x"}), Refused(2, HasSubstr("--window")));
  EXPECT_THAT(Advise({"--alignment", "9", "--capacity", "8"}),
              Refused(2, HasSubstr("--alignment is 9")));
  EXPECT_THAT(Advise({"--algorithm", "lpfhp"}),
              Refused(2, HasSubstr("unknown option --algorithm")));
  const std::string histogram = folder_.File("x.hist.csv");
  WriteFile(histogram, "length,count\n3,2\n");
  EXPECT_EQ(Packhouse({"advise", histogram}).code, 0);
  EXPECT_THAT(Packhouse({"advise", histogram, "--window", "64"}),
              Refused(2, HasSubstr("no order of arrival")));
}

TEST_F(AdviseTest, ThePageCannotGoAnywhere) {
  EXPECT_THAT(Advise({"--html", lengths_}),
              Refused(2, HasSubstr("the file of LENGTHS itself")));
  EXPECT_EQ(ReadFile(lengths_), "5\n3\n4\n4\n8\n");
  EXPECT_THAT(Advise({"--html", folder_.File("no/page.html")}),
              Refused(2, HasSubstr("No such file")));
  EXPECT_THAT(Advise({"--html", "-", "--json"}),
              Refused(2, HasSubstr("cannot share standard output")));
  EXPECT_THAT(Advise({"--html", ""}), Refused(2, HasSubstr("empty")));
  // An error leaves nothing behind.
  EXPECT_THAT(Advise({"--html", page_, "--capacity", "1"}),
              Refused(2, HasSubstr("over-long")));
  EXPECT_THAT(Names(folder_.File("")), testing::ElementsAre("lengths.txt"));
}

TEST_F(AdviseTest, BenchPacking) {
  const Result table = Packhouse({"bench", "packing", lengths_, "--capacity",
                                  "8", "--algorithm", "lpfhp"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("5 sequences"), HasSubstr("lpfhp"),
                               HasSubstr("100.00 %"), Not(HasSubstr("spfhp"))));
  const Result result =
      Packhouse({"bench", "packing", lengths_, "--capacity", "8", "--window",
                 "2", "--algorithm", "lpfhp,spfhp", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const json report = json::parse(result.out);
  for (const char* key :
       {"cpu", "threads", "build_type", "compiler", "version"}) {
    EXPECT_TRUE(report["machine"].contains(key)) << key;
  }
  EXPECT_EQ(report["sequences"], 5);
  EXPECT_EQ(report["capacity"], 8);
  EXPECT_EQ(report["window"], 2);
  ASSERT_EQ(report["rows"].size(), 2);
  EXPECT_EQ(report["rows"][0]["algorithm"], "lpfhp");
  EXPECT_EQ(report["rows"][0]["packs"], 3);
  EXPECT_GT(report["rows"][1]["sequences_per_second"]["median"], 0);
  EXPECT_GT(report["rows"][1]["ns_per_sequence"]["best"], 0);
}

TEST_F(AdviseTest, BenchRefusesWhatItCannotMeasure) {
  EXPECT_THAT(Packhouse({"bench"}),
              Refused(2, HasSubstr("subject: packing, service")));
  EXPECT_THAT(Packhouse({"bench", "nobody"}), Refused(2, HasSubstr("nobody")));
  EXPECT_THAT(Packhouse({"bench", "packing", folder_.File("nobody")}),
              Refused(2, HasSubstr("No such file")));
  EXPECT_THAT(Packhouse({"bench", "packing", lengths_, "--algorithm", "x"}),
              Refused(2, HasSubstr("--algorithm is \"x\"")));
  const std::string histogram = folder_.File("x.hist.csv");
  WriteFile(histogram, "length,count\n3,2\n");
  EXPECT_THAT(Packhouse({"bench", "packing", histogram}),
              Refused(2, HasSubstr("no order of arrival")));
}

TEST_F(AdviseTest, BenchServiceRefusesBeforeItConnects) {
  const auto refusal = [this](std::vector<std::string> more) {
    more.insert(more.begin(), {"bench", "service", lengths_});
    return Packhouse(more);
  };
  EXPECT_THAT(refusal({}), Refused(2, HasSubstr("--target")));
  for (const auto& [option, value] :
       std::vector<std::pair<const char*, const char*>>{{"--streams", "0"},
                                                        {"--streams", "1001"},
                                                        {"--in-flight", "0"},
                                                        {"--batch", "0"},
                                                        {"--rate", "-1"},
                                                        {"--rate", "nan"},
                                                        {"--seconds", "-1"}}) {
    EXPECT_THAT(refusal({"--target", "unix:x", option, value}),
                Refused(2, AllOf(HasSubstr(option), HasSubstr(value))));
  }
  EXPECT_THAT(refusal({"--target", "nobody"}), Refused(2, HasSubstr("nobody")));
  EXPECT_THAT(refusal({"--target", "unix:x", "--algorithm", "best"}),
              Refused(2, HasSubstr("whole lists only")));
  EXPECT_THAT(refusal({"--target", "unix:x", "--capacity", "7"}),
              Refused(2, AllOf(HasSubstr("8"), HasSubstr("--overlong"))));
}

TEST_F(AdviseTest, HelpFitsTheScreen) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"advise", "--help"},
        {"bench", "--help"},
        {"bench", "packing", "--help"},
        {"bench", "service", "--help"}}) {
    const Result help = Packhouse(args);
    EXPECT_EQ(help.code, 0);
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80) << line;
    }
  }
}

}  // namespace
}  // namespace packhouse
