#include "client/cli/packs_file.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/output_file.h"
#include "client/cli/text_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/files.h"
#include "tests/packs.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint32_t kLongest = kMaxCapacityTokens;

PackSpec Spec() {
  PackSpec spec;
  spec.capacity_tokens = kLongest;
  return spec;
}

// Writes with `write` to a file that appears at `path`.
template <typename Write>
absl::Status ToFile(const std::string& path, const Write& write) {
  absl::StatusOr<OutputFile> file = OutputFile::Open(path);
  if (!file.ok()) return file.status();
  TextWriter writer(*std::move(file));
  write(&writer);
  return writer.Finish();
}

absl::Status PacksTo(const std::string& path, const PackSpec& spec,
                     const std::vector<std::vector<uint32_t>>& lists,
                     const std::vector<Packs>& packs) {
  return ToFile(path, [&](TextWriter* writer) {
    WritePacks(spec, lists, packs, writer);
  });
}

absl::Status HistogramPacksTo(const std::string& path,
                              const HistogramPlan& plan) {
  return ToFile(path,
                [&](TextWriter* writer) { WriteHistogramPacks(plan, writer); });
}

class PacksFileTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<PackLines>> Read(const std::string& content,
                                              uint64_t streams = 1) {
    WriteFile(path_, content);
    return ReadPacks(path_, streams);
  }

  TempDir folder_;
  const std::string path_ = folder_.File("packs.jsonl");
};

TEST_F(PacksFileTest, WritesOneStream) {
  const std::vector<std::vector<uint32_t>> lists = {{5, kLongest, 3}};
  ASSERT_THAT(PacksTo(path_, Spec(), lists, {MakePacks({{1}, {0, 2}})}),
              IsOk());
  EXPECT_EQ(ReadFile(path_),
            "{\"ordinals\":[1],\"lengths\":[2147483647]}\n"
            "{\"ordinals\":[0,2],\"lengths\":[5,3]}\n");
}

TEST_F(PacksFileTest, WritesPiecesAndReadsThem) {
  PackSpec spec = Spec();
  spec.capacity_tokens = 10;
  spec.overlong = Overlong::kSplit;
  Packs packs = MakePacks({{0}, {1, 2}, {0}});
  packs.source_offsets = {0, 0, 0, 10};
  ASSERT_THAT(PacksTo(path_, spec, {{14, 5, 4}}, {packs}), IsOk());
  const std::string text =
      "{\"ordinals\":[0],\"lengths\":[10],\"source_offsets\":[0]}\n"
      "{\"ordinals\":[1,2],\"lengths\":[5,4]}\n"
      "{\"ordinals\":[0],\"lengths\":[4],\"source_offsets\":[10]}\n";
  EXPECT_EQ(ReadFile(path_), text);
  const absl::StatusOr<std::vector<PackLines>> read = Read(text);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ((*read)[0].packs, packs);
  EXPECT_THAT((*read)[0].lengths, ElementsAre(10, 5, 4, 4));
}

TEST_F(PacksFileTest, WritesStreamsInOrder) {
  const std::vector<std::vector<uint32_t>> lists = {{5, 4}, {3}, {}};
  const std::vector<Packs> packs = {MakePacks({{1}, {0}}), MakePacks({{0}}),
                                    Packs()};
  ASSERT_THAT(PacksTo(path_, Spec(), lists, packs), IsOk());
  EXPECT_EQ(ReadFile(path_),
            "{\"ordinals\":[1],\"lengths\":[4],\"stream\":0}\n"
            "{\"ordinals\":[0],\"lengths\":[5],\"stream\":0}\n"
            "{\"ordinals\":[0],\"lengths\":[3],\"stream\":1}\n");
}

TEST_F(PacksFileTest, WritesGroupsOfAHistogram) {
  HistogramPlan plan;
  plan.groups.push_back({{{5, 1}, {3, 1}}, 7});
  plan.groups.push_back({{{8, 1}}, 1000000000000});
  plan.groups.push_back({{{3, 2}, {1, 3}}, 1});
  ASSERT_THAT(HistogramPacksTo(path_, plan), IsOk());
  EXPECT_EQ(ReadFile(path_),
            "{\"lengths\":[5,3],\"count\":7}\n"
            "{\"lengths\":[8],\"count\":1000000000000}\n"
            "{\"lengths\":[3,3,1,1,1],\"count\":1}\n");
}

TEST_F(PacksFileTest, WritesRunsLongerThanABuffer) {
  HistogramPlan plan;
  plan.groups.push_back({{{10, 1000000}, {9, 1}}, 2});
  ASSERT_THAT(HistogramPacksTo(path_, plan), IsOk());
  std::string expected = "{\"lengths\":[";
  for (int i = 0; i < 1000000; ++i) expected += "10,";
  expected += "9],\"count\":2}\n";
  EXPECT_TRUE(ReadFile(path_) == expected);
}

TEST_F(PacksFileTest, RunsEndWithTheFirstError) {
  // More than could be written out in the time of a test.
  HistogramPlan plan;
  plan.groups.push_back({{{1, uint64_t{1} << 62}}, 1});
  EXPECT_THAT(HistogramPacksTo("/dev/full", plan),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("/dev/full")));
}

TEST_F(PacksFileTest, ReadsWhatItWrote) {
  // Some megabytes, so that every buffer is filled and emptied.
  std::vector<std::vector<uint32_t>> lists(2);
  std::vector<Packs> packs(2);
  for (uint32_t i = 0; i < 200000; ++i) {
    for (size_t k = 0; k < 2; ++k) {
      lists[k].push_back((i * 2654435761u + static_cast<uint32_t>(k)) / 2);
      packs[k].ordinals.push_back(i);
      if (i % (3 + k) == 0) packs[k].offsets.push_back(i + 1);
    }
  }
  for (Packs& each : packs) {
    if (each.offsets.back() != 200000) each.offsets.push_back(200000);
  }
  ASSERT_THAT(PacksTo(path_, Spec(), lists, packs), IsOk());
  absl::StatusOr<std::vector<PackLines>> read = ReadPacks(path_, 2);
  ASSERT_THAT(read, IsOk());
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_TRUE((*read)[k].packs == packs[k]);
    EXPECT_EQ((*read)[k].lengths, lists[k]);
    EXPECT_EQ((*read)[k].line_numbers.size(), packs[k].size());
  }
  EXPECT_EQ((*read)[1].line_numbers.front(), packs[0].size() + 1);
}

TEST_F(PacksFileTest, FailedWriteLeavesTheOlderFile) {
  const std::vector<std::vector<uint32_t>> lists = {{5}};
  const std::vector<Packs> packs = {MakePacks({{0}})};
  EXPECT_THAT(PacksTo("/dev/full", Spec(), lists, packs),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("/dev/full")));
  EXPECT_THAT(PacksTo(folder_.File("none/packs"), Spec(), lists, packs),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("No such file")));
}

TEST_F(PacksFileTest, ReadsAnySpellingOfTheSame) {
  absl::StatusOr<std::vector<PackLines>> read = Read(
      "\n { \"lengths\" : [ 3, 4 ], \"ordinals\":[0,18446744073709551615]"
      "}\r\n{\"ordinals\":[],\"lengths\":[]}");
  ASSERT_THAT(read, IsOk());
  const PackLines& lines = read->at(0);
  EXPECT_TRUE(lines.packs == MakePacks({{0, 18446744073709551615u}, {}}));
  EXPECT_THAT(lines.lengths, ElementsAre(3, 4));
  EXPECT_THAT(lines.line_numbers, ElementsAre(2, 3));
}

TEST_F(PacksFileTest, NothingIsNoPacks) {
  absl::StatusOr<std::vector<PackLines>> read = Read("", 3);
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ(read->size(), 3u);
  for (const PackLines& lines : *read) EXPECT_TRUE(lines.packs.empty());
}

TEST_F(PacksFileTest, BadLineIsNamed) {
  const struct {
    std::string line;
    std::string text;
  } kCases[] = {
      {"x", "is not JSON"},
      {"{\"ordinals\":[0],\"lengths\":[5]", "is not JSON"},
      {"{\"ordinals\":[0],\"lengths\":[5]} x", "is not JSON"},
      {"{\"ordinals\":[0],\"lengths\":[\"\xff\"]}", "is not JSON"},
      {"5", "a number where none belongs"},
      {"\"x\"", "a string where none belongs"},
      {"null", "a null where none belongs"},
      {"[]", "an array where none belongs"},
      {"{}", "\"ordinals\" and \"lengths\" are needed"},
      {"{\"ordinals\":[0]}", "\"ordinals\" and \"lengths\" are needed"},
      {"{\"lengths\":[0]}", "\"ordinals\" and \"lengths\" are needed"},
      {"{\"ordinals\":0,\"lengths\":[5]}", "a number where none belongs"},
      {"{\"ordinals\":[[0]],\"lengths\":[5]}", "an array where none belongs"},
      {"{\"ordinals\":[{}],\"lengths\":[5]}", "an object inside a pack"},
      {"{\"ordinals\":[true],\"lengths\":[5]}", "a boolean where none"},
      {"{\"ordinals\":[0],\"ordinals\":[0]}", "a second \"ordinals\""},
      {"{\"ordinals\":[-1],\"lengths\":[5]}", "-1 is negative"},
      {"{\"ordinals\":[0.5],\"lengths\":[5]}", "\"0.5\" is not a whole"},
      {"{\"ordinals\":[18446744073709551616],\"lengths\":[5]}",
       "is not a whole number"},
      {"{\"ordinals\":[0],\"lengths\":[4294967296]}",
       "4294967296 is over the limit"},
      {"{\"ordinals\":[0],\"lengths\":[5],\"x\":1}", "unknown key \"x\""},
      {"{\"ordinals\":[0],\"lengths\":[5],\"source_offsets\":0}",
       "a number where none belongs"},
      {"{\"ordinals\":[0],\"lengths\":[5],\"source_offsets\":[4294967296]}",
       "source offset 4294967296 is over the limit"},
      {"{\"lengths\":[5],\"count\":1}", "packs of a histogram"},
      {"{\"ordinals\":[0],\"lengths\":[5],\"stream\":0}", "--streams"},
      {"{\"ordinals\":[0],\"lengths\":[5],\"stream\":[0]}",
       "an array where none belongs"},
      {std::string(1000000, '{'), "is not JSON"},
      {absl::StrCat("{\"", std::string(1000000, 'x'), "\":1}"), "unknown key"},
  };
  for (const auto& bad : kCases) {
    EXPECT_THAT(
        Read(absl::StrCat("{\"ordinals\":[0],\"lengths\":[5]}\n", bad.line)),
        StatusIs(
            absl::StatusCode::kInvalidArgument,
            AllOf(HasSubstr("packs.jsonl: line 2: "), HasSubstr(bad.text))));
  }
  EXPECT_THAT(Read("{\"ordinals\":[0],\"lengths\":[5]}\n", 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("line 1: has no \"stream\"")));
}

TEST_F(PacksFileTest, ContradictionIsNoMatterOfFormat) {
  EXPECT_THAT(Read("{\"ordinals\":[0,1],\"lengths\":[5]}\n"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("line 1: holds 2 ordinals and 1 lengths")));
  EXPECT_THAT(
      Read("{\"ordinals\":[0],\"lengths\":[5],\"source_offsets\":[]}\n"),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("holds 1 ordinals and 0 source offsets")));
  EXPECT_THAT(Read("{\"ordinals\":[0],\"lengths\":[5],\"stream\":2}\n", 2),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("line 1: stream 2 is not one of 0 to 1")));
}

TEST_F(PacksFileTest, NoFile) {
  EXPECT_THAT(ReadPacks(path_, 1), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("No such file")));
}

}  // namespace
}  // namespace packhouse
