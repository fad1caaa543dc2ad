
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/files.h"
#include "tests/cli/run.h"

namespace packhouse {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

class CliTest : public testing::Test {
 protected:
  CliTest() { WriteFile(lengths_, "5\n3\n4\n4\n8\n"); }

  // A command about the list of five lengths and packs of 8 tokens.
  Result RunOn(std::vector<std::string> args,
               const std::vector<std::string>& more) {
    args.insert(args.begin() + 1, lengths_);
    args.insert(args.end(), {"--capacity", "8"});
    args.insert(args.end(), more.begin(), more.end());
    return Packhouse(args);
  }

  TempDir folder_;
  const std::string lengths_ = folder_.File("lengths.txt");
  const std::string packs_ = folder_.File("packs.jsonl");
};

TEST_F(CliTest, PlanWritesPacksAndReports) {
  const Result result = RunOn({"plan"}, {"--packs", packs_, "--json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  const json report = json::parse(result.out);
  EXPECT_EQ(report["sequences"], 5);
  EXPECT_EQ(report["tokens"], 24);
  EXPECT_EQ(report["packs"], 3);
  EXPECT_EQ(report["efficiency"], 1.0);
  EXPECT_EQ(ReadFile(packs_),
            "{\"ordinals\":[0,1],\"lengths\":[5,3]}\n"
            "{\"ordinals\":[2,3],\"lengths\":[4,4]}\n"
            "{\"ordinals\":[4],\"lengths\":[8]}\n");
}

TEST_F(CliTest, PlanPrintsATableByDefault) {
  const Result result = RunOn({"plan"}, {});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, AllOf(HasSubstr("efficiency"), HasSubstr("100.00 %"),
                                HasSubstr("one sequence a row")));
}

TEST_F(CliTest, SpecReachesThePacker) {
  const Result result =
      RunOn({"plan"}, {"--packs", packs_, "--algorithm", "lpfhp", "--window",
                       "4", "--max-sequences", "1", "--alignment", "2",
                       "--overlong", "error", "--empty", "error", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["packs"], 5);
  EXPECT_EQ(report["algorithm"], "lpfhp");
  EXPECT_EQ(report["window"], 4);
  EXPECT_EQ(report["max_sequences"], 1);
  EXPECT_EQ(report["alignment"], 2);
  EXPECT_EQ(report["waste_tokens"]["alignment"], 2);
}

TEST_F(CliTest, PlanOfAHistogram) {
  const std::string histogram = folder_.File("lengths.hist.csv");
  WriteFile(histogram, "length,count\n3,2000000000\n5,2000000000\n8,1\n");
  const Result result = Packhouse(
      {"plan", histogram, "--capacity", "8", "--packs", packs_, "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["sequences"], 4000000001);
  EXPECT_EQ(report["window"], 4000000001);
  EXPECT_EQ(report["packs"], 2000000001);
  EXPECT_TRUE(report["max_displacement"].is_null());
  EXPECT_EQ(ReadFile(packs_),
            "{\"lengths\":[8],\"count\":1}\n"
            "{\"lengths\":[5,3],\"count\":2000000000}\n");
}

TEST_F(CliTest, HistogramIsOneWindow) {
  const std::string histogram = folder_.File("lengths.hist.csv");
  WriteFile(histogram, "length,count\n3,2\n5,2\n");
  const auto plan = [&](const std::string& window) {
    return Packhouse(
        {"plan", histogram, "--capacity", "8", "--window", window});
  };
  EXPECT_EQ(plan("4").code, 0);
  EXPECT_THAT(plan("3"),
              Refused(2, AllOf(HasSubstr("all of its 4"), HasSubstr("is 3"))));
  EXPECT_THAT(Packhouse({"stream", histogram, "--capacity", "8", "--target",
                         "unix:/nobody"}),
              Refused(2, HasSubstr("no order of arrival")));
  EXPECT_THAT(Packhouse({"verify", histogram, packs_, "--capacity", "8"}),
              Refused(2, HasSubstr("no order of arrival")));
}

TEST_F(CliTest, JsonLinesNeedTheField) {
  const std::string records = folder_.File("records.jsonl");
  WriteFile(records, "{\"n\":5}\n{\"n\":3}\n");
  const Result result =
      Packhouse({"plan", records, "--field", "n", "--capacity", "8", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["packs"], 1);
  EXPECT_THAT(Packhouse({"plan", records, "--capacity", "8"}),
              Refused(2, HasSubstr("--field")));
}

TEST_F(CliTest, VerifyAcceptsAPlan) {
  ASSERT_EQ(RunOn({"plan"}, {"--packs", packs_}).code, 0);
  Result result = RunOn({"verify", packs_}, {});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, StartsWith("ok: 3 packs hold each of 5 sequences"));
  result = RunOn({"verify", packs_}, {"--json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(json::parse(result.out), (json{{"ok", true},
                                           {"sequences", 5},
                                           {"packs", 3},
                                           {"capacity", 8},
                                           {"streams", 1},
                                           {"violation", nullptr}}));
}

TEST_F(CliTest, VerifyFindsViolations) {
  const std::string first =
      "{\"ordinals\":[0,1],\"lengths\":[5,3]}\n"
      "{\"ordinals\":[2,3],\"lengths\":[4,4]}\n";
  const auto verify = [&](const std::string& packs,
                          const std::vector<std::string>& more) {
    WriteFile(packs_, packs);
    return RunOn({"verify", packs_}, more);
  };
  const std::string right = first + "{\"ordinals\":[4],\"lengths\":[8]}\n";
  EXPECT_EQ(verify(right, {}).code, 0);
  EXPECT_THAT(verify(first, {}),
              Refused(1, HasSubstr("ordinal 4 is in no pack (packs and "
                                   "ordinals count from 0)")));
  EXPECT_THAT(verify(right + right, {}), Refused(1, HasSubstr("0")));
  EXPECT_THAT(verify(right, {"--max-sequences", "1"}),
              Refused(1, HasSubstr("2")));
  EXPECT_THAT(verify(right, {"--alignment", "8"}), Refused(1, HasSubstr("16")));
  EXPECT_THAT(
      verify(first + "{\"ordinals\":[4],\"lengths\":[7]}\n", {}),
      Refused(1, HasSubstr("pack 2 (line 3) gives sequence 4 length 7, but "
                           "by LENGTHS it has 8")));
  EXPECT_THAT(verify(first + "{\"ordinals\":[4],\"lengths\":[]}\n", {}),
              Refused(1, HasSubstr("line 3: holds 1 ordinals and 0 lengths")));
  EXPECT_THAT(verify(first + "x\n", {}), Refused(2, HasSubstr("line 3")));

  const Result result = verify(first, {"--json"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, StartsWith("packhouse: "));
  EXPECT_EQ(json::parse(result.out)["ok"], false);
  EXPECT_THAT(result.err,
              HasSubstr(std::string(json::parse(result.out)["violation"])));
}

TEST_F(CliTest, VerifyOfStreams) {
  // Stream 0 has the lengths 5, 4, 8, stream 1 has 3, 4.
  const std::string first =
      "{\"ordinals\":[0],\"lengths\":[5],\"stream\":0}\n"
      "{\"ordinals\":[1],\"lengths\":[4],\"stream\":0}\n"
      "{\"ordinals\":[2],\"lengths\":[8],\"stream\":0}\n";
  WriteFile(packs_,
            first + "{\"ordinals\":[0,1],\"lengths\":[3,4],\"stream\":1}\n");
  EXPECT_EQ(RunOn({"verify", packs_}, {"--streams", "2"}).code, 0);
  EXPECT_THAT(RunOn({"verify", packs_}, {}),
              Refused(2, HasSubstr("--streams")));
  WriteFile(packs_,
            first + "{\"ordinals\":[0,1],\"lengths\":[3,5],\"stream\":1}\n");
  EXPECT_THAT(RunOn({"verify", packs_}, {"--streams", "2"}),
              Refused(1, HasSubstr("stream 1: pack 0 (line 4) gives")));
}

TEST_F(CliTest, FailureLeavesNoFileAndKeepsAnOldOne) {
  WriteFile(lengths_, "5\n9\n");
  EXPECT_THAT(RunOn({"plan"}, {"--packs", packs_}), Refused(2, HasSubstr("9")));
  EXPECT_THAT(Names(folder_.File("")), ElementsAre("lengths.txt"));
  WriteFile(packs_, "old");
  EXPECT_THAT(RunOn({"plan"}, {"--packs", packs_}), Refused(2, HasSubstr("9")));
  EXPECT_EQ(ReadFile(packs_), "old");
}

TEST_F(CliTest, PacksThatCannotBeWritten) {
  EXPECT_THAT(RunOn({"plan"}, {"--packs", folder_.File("none/packs")}),
              Refused(2, HasSubstr("No such file")));
  EXPECT_THAT(RunOn({"plan"}, {"--packs", ""}),
              Refused(2, HasSubstr("--packs: the value is empty")));
  EXPECT_THAT(RunOn({"plan"}, {"--packs", "/dev/full"}),
              Refused(1, HasSubstr("/dev/full")));
  EXPECT_THAT(RunOn({"plan"}, {"--packs", "-", "--json"}),
              Refused(2, HasSubstr("cannot share")));
}

TEST_F(CliTest, PacksNeverReplaceTheirLengths) {
  const std::string before = ReadFile(lengths_);
  const std::string symlink = folder_.File("symlink");
  const std::string hard_link = folder_.File("hard_link");
  std::filesystem::create_symlink(lengths_, symlink);
  std::filesystem::create_hard_link(lengths_, hard_link);
  for (const std::string& packs :
       {lengths_, folder_.File("./lengths.txt"), symlink, hard_link}) {
    EXPECT_THAT(RunOn({"plan"}, {"--packs", packs}),
                Refused(2, HasSubstr("is the file of LENGTHS itself")));
    EXPECT_THAT(RunOn({"stream"}, {"--target", "unix:x", "--packs", packs}),
                Refused(2, HasSubstr("is the file of LENGTHS itself")));
    EXPECT_EQ(ReadFile(packs), before);
  }
  EXPECT_THAT(
      Packhouse({"plan", symlink, "--capacity", "8", "--packs", lengths_}),
      Refused(2, HasSubstr("is the file of LENGTHS itself")));
  EXPECT_THAT(Names(folder_.File("")),
              UnorderedElementsAre("lengths.txt", "symlink", "hard_link"));
}

TEST_F(CliTest, UnwritableOutputIsAFailure) {
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(CliMain({"plan", lengths_, "--capacity", "8"}, out, err), 1);
  EXPECT_EQ(err.str(), "packhouse: cannot write to standard output\n");
}

TEST_F(CliTest, LengthThatCannotBePackedIsFound) {
  EXPECT_THAT(
      RunOn({"plan"}, {"--max-sequences", "1", "--alignment", "8"}).code, 0);
  WriteFile(lengths_, "9\n\n5\n");
  const std::string text =
      absl::StrCat("packhouse: ", lengths_,
                   ": 1 of 2 sequences cannot be packed: ordinal 0 has length "
                   "9 > capacity 8 (ordinals count from 0; "
                   "--overlong says what to do with such)\n");
  EXPECT_THAT(RunOn({"plan"}, {}), Refused(2, text));
  EXPECT_THAT(RunOn({"stream"}, {"--target", "unix:x"}), Refused(2, text));
  EXPECT_THAT(RunOn({"verify", packs_}, {}), Refused(2, text));

  const std::string histogram = folder_.File("lengths.hist.csv");
  const auto plan = [&](const std::string& row) {
    WriteFile(histogram, absl::StrCat("length,count\n5,2\n", row, "\n"));
    return Packhouse({"plan", histogram, "--capacity", "10", "--alignment", "4",
                      "--packs", packs_});
  };
  EXPECT_THAT(plan("9,3"),
              Refused(2, AllOf(HasSubstr(histogram + ": length 9, count 3, "),
                               HasSubstr("from 1 to 8 at capacity 10"),
                               Not(HasSubstr("ordinal")))));
  EXPECT_THAT(plan("0,7"), Refused(2, HasSubstr("length 0, count 7, cannot")));
  EXPECT_THAT(plan("8,9223372036854775807"),
              Refused(2, HasSubstr(histogram + ": the counts add up")));
  EXPECT_EQ(plan("8,3").code, 0);
}

TEST_F(CliTest, ManyOffendersStayShort) {
  std::string text;
  for (int i = 0; i < 10000; ++i) absl::StrAppend(&text, "9\n");
  WriteFile(lengths_, text);
  EXPECT_THAT(RunOn({"plan"}, {}), Refused(2, HasSubstr("9")));
  // The list is checked before it is dealt out, and before any connection.
  EXPECT_THAT(RunOn({"stream"}, {"--target", "unix:/nobody", "--streams", "7"}),
              Refused(2, HasSubstr("9")));
}

TEST_F(CliTest, WrongOptions) {
  const struct {
    std::vector<std::string> options;
    std::string text;
  } kCases[] = {
      {{"--capacity", "9"}, "--capacity"},  // the second one
      {{"--window", "0"},
       "--window: \"0\" is not a whole number from 1 to 2147483647"},
      {{"--window", "x"}, "--window: \"x\" is not a whole number"},
      {{"--window", "010x"}, "\"010x\""},
      {{"--window", "1.5"}, "\"1.5\""},
      {{"--window", "99999999999999999999"}, "\"99999999999999999999\""},
      {{"--window"}, "--window"},
      {{"--max-sequences", "-1"},
       "--max-sequences: \"-1\" is not a whole number from 0 to 2147483647"},
      {{"--alignment", "0"}, "--alignment: \"0\" is not a whole number"},
      {{"--alignment", "9"}, ": --alignment is 9, it must be from 1 to 8"},
      {{"--algorithm", "best_fit"}, ": --algorithm is \"best_fit\", the known"},
      {{"--overlong", "cut"},
       "--overlong: \"cut\" is not one of error, drop, truncate, "
       "truncate_head, split\n"},
      {{"--empty", "keep"}, "--empty: \"keep\" is not one of error, drop\n"},
      {{"--seed", "-1"}, "--seed: \"-1\" is not a whole number from 0 to"},
      {{"--effort", "high"}, "--effort: \"high\" is not one of fast, "},
      {{"--effort", "fast"}, ": --effort is of sliding only, --algorithm is"},
      {{"--max-displacement", "0"}, "--max-displacement: \"0\" is not"},
      {{"--max-displacement", "9"}, ": --max-displacement is of sliding only"},
      {{"--budget", "0"}, "--budget: \"0\" is not a number from 0.001 to"},
      {{"--budget", "2"}, ": --budget is of best only"},
      {{"--streams", "2"}, "--streams"},
      {{"--field", ""}, "--field: the value is empty"},
      {{"--colour"}, "unknown option --colour\n"},
      {{"--colour", "1"}, "unknown option --colour\n"},
      {{"--colour=1", "more"}, "unknown option --colour\n"},
      {{"-c", "1"}, "unknown option -c\n"},
      {{"more", "words"}, "unexpected argument \"more\"\n"},
  };
  for (const auto& wrong : kCases) {
    EXPECT_THAT(RunOn({"plan"}, wrong.options),
                Refused(2, HasSubstr(wrong.text)));
  }
}

TEST_F(CliTest, WrongOptionsOfStreams) {
  const struct {
    std::vector<std::string> options;
    std::string text;
  } kCases[] = {
      {{}, "--target"},
      {{"--target", ""}, "--target"},
      {{"--target", "x:y:z"}, "x:y:z"},
      {{"--target", "unix:x", "--streams", "0"},
       "\"0\" is not a whole number from 1 to 1000"},
      {{"--target", "unix:x", "--streams", "1001"}, "\"1001\" is not a whole"},
      {{"--target", "unix:x", "--streams", "-1"}, "-1"},
      {{"--target", "unix:x", "--batch", "0"},
       "--batch: \"0\" is not a whole number from 1 to 65536"},
      {{"--target", "unix:x", "--batch", "-1"}, "from 1 to 65536"},
      {{"--target", "unix:x", "--batch", "65537"}, "65537"},
      {{"--target", "unix:x", "--batch", "4294967297"}, "4294967297"},
      {{"--target", "unix:x", "--answer-within", "0"},
       "--answer-within: \"0\" is not a number from 0.001 to 1000000000"},
      {{"--target", "unix:x", "--answer-within", "1e-300"},
       "\"1e-300\" is not"},
      {{"--target", "unix:x", "--answer-within", "inf"}, "\"inf\" is not"},
      {{"--target", "unix:x", "--answer-within", "1e10"}, "\"1e10\" is not"},
      {{"--target", "unix:x", "--answer-within", "nan"}, "\"nan\""},
      {{"--target", "unix:x", "--answer-within", "soon"}, "\"soon\""},
      {{"--target", "unix:x", "--unavailable-for", "-1"},
       "--unavailable-for: \"-1\" is not a number from 0 to 1000000000"},
      {{"--target", "unix:x", "--flush-after", "0"}, "from 0.001"},
      {{"--target", "unix:x,"}, "address \"\""},
      {{"--target", "unix:x", "--seed", "x"}, "--seed"},
  };
  for (const auto& wrong : kCases) {
    EXPECT_THAT(RunOn({"stream"}, wrong.options),
                Refused(2, HasSubstr(wrong.text)));
  }
}

TEST_F(CliTest, WrongCommands) {
  EXPECT_THAT(
      Packhouse({}),
      Refused(2,
              HasSubstr("plan, stream, verify, advise, bench, masks, health")));
  for (const std::string name : {"state", "pack", ""}) {
    EXPECT_THAT(Packhouse({name, lengths_}),
                Refused(2, HasSubstr("unknown command")));
  }
  EXPECT_THAT(Packhouse({"--json"}), Refused(2, HasSubstr("--json")));
  EXPECT_THAT(Packhouse({"plan"}), Refused(2, HasSubstr("LENGTHS")));
  EXPECT_THAT(Packhouse({"plan", lengths_}),
              Refused(2, HasSubstr("--capacity is required")));
  EXPECT_THAT(Packhouse({"plan", lengths_, "--cap", "7"}),
              Refused(2, HasSubstr("unknown option --cap\n")));
  EXPECT_THAT(Packhouse({"plan", lengths_, "--capacity", "7.5"}),
              Refused(2, HasSubstr("--capacity: \"7.5\" is not a whole number "
                                   "from 1 to 2147483647")));
  EXPECT_THAT(Packhouse({"help", "pack"}),
              Refused(2, HasSubstr("unknown command \"pack\"")));
  EXPECT_THAT(Packhouse({"verify", lengths_, "--capacity", "8"}),
              Refused(2, HasSubstr("PACKS")));
  EXPECT_THAT(Packhouse({"verify", "-", "-", "--capacity", "8"}),
              Refused(2, HasSubstr("both")));
  EXPECT_THAT(Packhouse({"health"}), Refused(2, HasSubstr("--target")));
}

TEST_F(CliTest, FileNamedLikeACommand) {
  WriteFile(folder_.File("stream"), "5\n");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.File(""));
  EXPECT_EQ(Packhouse({"plan", "stream", "--capacity", "8"}).code, 0);
  std::filesystem::current_path(before);
}

TEST_F(CliTest, NobodyServes) {
  const std::string target = absl::StrCat("unix:", folder_.File("socket"));
  EXPECT_THAT(
      Packhouse({"health", "--target", target, "--answer-within", "0.2"}),
      Refused(1, HasSubstr("socket")));
  const std::string other = absl::StrCat("unix:", folder_.File("other"));
  EXPECT_THAT(
      RunOn({"stream"}, {"--target", target, "--target", other,
                         "--unavailable-for", "0.2", "--packs", packs_}),
      Refused(1,
              AllOf(HasSubstr(target), HasSubstr(other), HasSubstr("200ms"))));
  EXPECT_THAT(Names(folder_.File("")), ElementsAre("lengths.txt"));
}

TEST_F(CliTest, HelpIsThereForEveryCommand) {
  Result result = Packhouse({"--help"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("plan"), HasSubstr("stream"),
                                HasSubstr("verify"), HasSubstr("health")));
  EXPECT_EQ(Packhouse({"help"}).code, 0);
  EXPECT_EQ(Packhouse({"help"}).out, result.out);
  for (const std::string name : {"plan", "stream", "verify", "health"}) {
    result = Packhouse({name, "--help"});
    EXPECT_EQ(Packhouse({"help", name}).out, result.out);
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, AllOf(HasSubstr("Usage: packhouse " + name),
                                  HasSubstr("Example:")));
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80u) << line;
    }
  }
  EXPECT_THAT(Packhouse({"--version"}).out,
              MatchesRegex("packhouse [0-9.]+\n"));
}

}  // namespace
}  // namespace packhouse
