#include "client/cli/report_text.h"

#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace packhouse {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Two packs of 8 tokens: 5 + 2 and 7.
RunReport Example() {
  RunReport run;
  run.spec.capacity_tokens = 8;
  run.figures.intake.sequences = 3;
  run.figures.intake.tokens = 14;
  run.figures.intake.units = 3;
  run.figures.intake.packed_tokens = 14;
  run.figures.packs = 2;
  run.figures.capacity_tokens = 8;
  run.figures.lower_bound_packs = 2;
  run.figures.waste_tail_tokens = 2;
  run.figures.max_displacement = 1;
  run.figures.one_per_row_slots = 24;
  run.figures.pad_to_longest_slots = 21;
  run.seconds = 0.5;
  return run;
}

TEST(ReportTextTest, JsonIsOneLineWithTheFigures) {
  const std::string text = ReportJson(Example());
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_EQ(json::parse(text),
            (json{{"sequences", 3},
                  {"tokens", 14},
                  {"packs", 2},
                  {"capacity", 8},
                  {"efficiency", 0.875},
                  {"lower_bound_packs", 2},
                  {"waste_tokens", {{"tail", 2}, {"alignment", 0}}},
                  {"truncated_tokens", 0},
                  {"dropped_tokens", 0},
                  {"dropped_sequences", 0},
                  {"empty_sequences", 0},
                  {"max_displacement", 1},
                  {"seconds", 0.5},
                  {"algorithm", "spfhp"},
                  {"window", 1024},
                  {"max_sequences", 0},
                  {"alignment", 1},
                  {"overlong", "error"},
                  {"empty", "error"},
                  {"seed", nullptr},
                  {"effort", nullptr},
                  {"units", 3},
                  {"packed_tokens", 14},
                  {"truncated_sequences", 0},
                  {"split_sequences", 0},
                  {"extra_pieces", 0},
                  {"best", nullptr},
                  {"cost", nullptr},
                  {"streams", 1},
                  {"one_per_row_slots", 24},
                  {"pad_to_longest_slots", 21}}));
}

TEST(ReportTextTest, SaysWhatBecameOfOthers) {
  RunReport run = Example();
  EXPECT_THAT(ReportTable(run), Not(HasSubstr("dropped")));
  IntakeCounts& intake = run.figures.intake;
  intake.dropped_sequences = 1;
  intake.dropped_tokens = 1234;
  intake.empty_sequences = 5;
  intake.split_sequences = 2;
  intake.extra_pieces = 3;
  run.spec.seed = 7;
  const json report = json::parse(ReportJson(run));
  EXPECT_EQ(report["dropped_sequences"], 1);
  EXPECT_EQ(report["dropped_tokens"], 1234);
  EXPECT_EQ(report["empty_sequences"], 5);
  EXPECT_EQ(report["split_sequences"], 2);
  EXPECT_EQ(report["extra_pieces"], 3);
  EXPECT_EQ(report["seed"], 7);
  const std::string table = ReportTable(run);
  EXPECT_THAT(table, HasSubstr("1,234 tokens lost"));
  EXPECT_THAT(table, HasSubstr("into 5 pieces"));
  EXPECT_THAT(table, Not(HasSubstr("truncated")));
}

TEST(ReportTextTest, SaysWhatBestHasProven) {
  RunReport run = Example();
  run.spec.algorithm = "best";
  run.best.emplace();
  run.best->found_by = "columns";
  run.best->lp_available = true;
  EXPECT_THAT(ReportTable(run), HasSubstr("proven: there is no better plan"));
  run.figures.lower_bound_packs = 1;
  run.best->is_cut_short = true;
  EXPECT_THAT(ReportTable(run), HasSubstr("the budget ended the search"));
  EXPECT_THAT(ReportTable(run), HasSubstr("the whole list at once"));
  const json report = json::parse(ReportJson(run))["best"];
  EXPECT_EQ(report, (json{{"found_by", "columns"},
                          {"gap_packs", 1},
                          {"lp_available", true},
                          {"is_cut_short", true}}));
  run.best->lp_available = false;
  EXPECT_THAT(ReportTable(run), HasSubstr("this build has no solver"));
}

TEST(ReportTextTest, JsonHasNullForWhatIsNotDefined) {
  RunReport empty;
  EXPECT_TRUE(json::parse(ReportJson(empty))["efficiency"].is_null());
  RunReport histogram = Example();
  histogram.ordered = false;
  const json report = json::parse(ReportJson(histogram));
  EXPECT_TRUE(report["max_displacement"].is_null());
  EXPECT_TRUE(report["pad_to_longest_slots"].is_null());
  EXPECT_EQ(report["one_per_row_slots"], 24);
}

TEST(ReportTextTest, JsonKeepsLargeNumbers) {
  RunReport run = Example();
  run.figures.intake.tokens = std::numeric_limits<uint64_t>::max();
  EXPECT_THAT(ReportJson(run), HasSubstr("\"tokens\":18446744073709551615,"));
}

// The words of each line that holds `name`, spaces apart.
std::vector<std::string> WordsAfter(const std::string& text,
                                    const std::string& name) {
  std::istringstream rest(text.substr(text.find(name) + name.size()));
  std::string line;
  std::getline(rest, line);
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

TEST(ReportTextTest, TableSaysWhatWasSaved) {
  const std::string table = ReportTable(Example());
  EXPECT_THAT(WordsAfter(table, "\n  sequences"), ElementsAre("3"));
  EXPECT_THAT(WordsAfter(table, "\n  efficiency").front(), "87.50");
  EXPECT_THAT(WordsAfter(table, "pack ends"), ElementsAre("2"));
  EXPECT_THAT(WordsAfter(table, "longest of 8"),
              ElementsAre("21", "1.31", "times", "the", "packs"));
  EXPECT_THAT(WordsAfter(table, "one sequence a row"),
              ElementsAre("24", "1.50", "times", "the", "packs"));
  EXPECT_THAT(WordsAfter(table, "\n  seconds"),
              ElementsAre("0.500000", "6", "sequences/s"));
  EXPECT_THAT(table, Not(HasSubstr("streams")));
}

TEST(ReportTextTest, TableNamesTheSpec) {
  RunReport run = Example();
  run.spec.algorithm = "lpfhp";
  run.spec.capacity_tokens = 131072;
  run.spec.sequence_alignment = 16;
  run.spec.max_sequences_per_pack = 4;
  run.streams = 8;
  EXPECT_THAT(ReportTable(run),
              HasSubstr("lpfhp, packs of 131,072 tokens, window of 1,024 "
                        "sequences, aligned to 16, at most 4 sequences a "
                        "pack, 8 streams\n"));
}

TEST(ReportTextTest, TableOfNothing) {
  const std::string table = ReportTable(RunReport());
  EXPECT_THAT(table, HasSubstr("not defined"));
  EXPECT_THAT(table, Not(HasSubstr("nan")));
  EXPECT_THAT(table, Not(HasSubstr("inf")));
}

TEST(GroupedTest, ThousandsApart) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1,000");
  EXPECT_EQ(Grouped(1234567), "1,234,567");
  EXPECT_EQ(Grouped(std::numeric_limits<uint64_t>::max()),
            "18,446,744,073,709,551,615");
}

}  // namespace
}  // namespace packhouse
