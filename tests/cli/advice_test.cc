#include "client/cli/advise/advice.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "client/cli/advise/advice_html.h"
#include "client/cli/advise/advice_json.h"
#include "client/cli/advise/advice_text.h"
#include "client/cli/advise/advice_words.h"
#include "client/cli/advise/length_bins.h"
#include "client/cli/report_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "packhouse/plan.h"

namespace packhouse {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A list whose lengths repeat after `period`, 1 to 97.
LengthList Mixed(size_t count, uint32_t period) {
  LengthList list;
  for (size_t i = 0; i < count; ++i) {
    list.push_back(static_cast<uint32_t>(i * i * 7 % period) % 97 + 1);
  }
  return list;
}

AdviceQuery At(std::vector<int64_t> capacities,
               std::vector<int64_t> windows = {}) {
  AdviceQuery query;
  query.capacities = std::move(capacities);
  query.windows = std::move(windows);
  return query;
}

const AdviceRow* RowOf(const CapacityAdvice& capacity, const std::string& rule,
                       int64_t window) {
  for (const AdviceRow& row : capacity.rows) {
    if (RuleLabel(row.spec) == rule && row.spec.window_sequences == window) {
      return &row;
    }
  }
  return nullptr;
}

AdviceRow Row(const std::string& rule, int64_t window, uint64_t packs) {
  AdviceRow row;
  row.spec.algorithm = rule;
  row.spec.window_sequences = window;
  row.whole_list = !IsOnline(rule);
  row.figures.packs = packs;
  return row;
}

TEST(AdviceTest, RowsAreWhatPlanAndSummarizeSay) {
  const LengthList list = Mixed(500, 1009);
  AdviceQuery query = At({100, 256}, {16, 64});
  query.limits.sequence_alignment = 4;
  const Advice advice = *Advise(list, query);
  ASSERT_EQ(advice.capacities.size(), 2);
  for (const CapacityAdvice& capacity : advice.capacities) {
    ASSERT_GE(capacity.rows.size(), 4);
    for (const AdviceRow& row : capacity.rows) {
      EXPECT_EQ(row.spec.capacity_tokens, capacity.capacity);
      EXPECT_EQ(row.spec.sequence_alignment, 4);
      if (row.spec.algorithm == "best") continue;  // depends on the time
      const Packs packs = *Plan(list, row.spec);
      const PackReport figures = *Summarize(list, row.spec, packs);
      EXPECT_EQ(row.figures.packs, packs.size());
      EXPECT_EQ(row.figures.max_displacement, figures.max_displacement);
      EXPECT_EQ(*row.figures.efficiency(), *figures.efficiency());
      EXPECT_EQ(capacity.lower_bound_packs, figures.lower_bound_packs);
      uint64_t most = 0;
      for (size_t i = 0; i < packs.size(); ++i) {
        most = std::max<uint64_t>(most, packs[i].size());
      }
      EXPECT_EQ(row.most_sequences, most);
      EXPECT_DOUBLE_EQ(row.mean_sequences(),
                       500.0 / static_cast<double>(packs.size()));
    }
  }
}

TEST(AdviceTest, EveryOnlineRuleAtEveryWindowAndTheOthersOnce) {
  AdviceQuery query = At({128}, {8, 32});
  query.limits.max_sequences_per_pack = 3;
  const Advice advice = *Advise(Mixed(100, 1009), query);
  const CapacityAdvice& capacity = advice.capacities[0];
  for (const std::string& rule : AlgorithmNames()) {
    if (rule == "nnlshp" || absl::EndsWith(rule, "_reference")) {
      EXPECT_EQ(RowOf(capacity, rule, 1024), nullptr) << rule;
    } else if (IsOnline(rule)) {
      EXPECT_NE(RowOf(capacity, rule, 8), nullptr) << rule;
      EXPECT_NE(RowOf(capacity, rule, 32), nullptr) << rule;
    } else {
      EXPECT_NE(RowOf(capacity, rule, 1024), nullptr) << rule;
    }
  }
  EXPECT_THAT(capacity.left_out, IsEmpty());
}

TEST(AdviceTest, AllHasTheRulesForAuditToo) {
  AdviceQuery query = At({128}, {8});
  query.all = true;
  const Advice advice = *Advise(Mixed(100, 1009), query);
  size_t rules = 0;
  std::string last;
  for (const AdviceRow& row : advice.capacities[0].rows) {
    if (row.spec.algorithm != last) ++rules;
    last = row.spec.algorithm;
  }
  size_t left_out = 0;
  for (const LeftOut& rule : advice.capacities[0].left_out) {
    EXPECT_NE(rule.reason, "");
    if (rule.rule == "depth_aware") {
      EXPECT_THAT(rule.reason, HasSubstr("lpfhp"));
    }
    ++left_out;
  }
  EXPECT_EQ(rules + left_out, AlgorithmNames().size());
}

TEST(AdviceTest, AHistogramIsPackedWhole) {
  const LengthHistogram histogram = {{5, 20}, {3, 30}, {8, 4}, {3, 10}};
  const Advice advice = *Advise(histogram, At({8}));
  EXPECT_FALSE(advice.ordered);
  EXPECT_EQ(advice.sequences, 64);
  EXPECT_EQ(advice.tokens, 252);
  const CapacityAdvice& capacity = advice.capacities[0];
  EXPECT_FALSE(capacity.attention.pad_to_longest.has_value());
  ASSERT_FALSE(capacity.rows.empty());
  for (const AdviceRow& row : capacity.rows) {
    EXPECT_TRUE(row.whole_list);
    // 20 of 5 + 3, 10 of 3 + 3, 4 of 8.
    EXPECT_EQ(row.figures.packs, 34) << RuleLabel(row.spec);
    EXPECT_EQ(row.most_sequences, 2);
  }
  EXPECT_EQ(capacity.recommended, 0);
  EXPECT_THAT(SpecOptions(capacity, capacity.rows[0]),
              Not(HasSubstr("--window")));
  EXPECT_THAT(Advise(histogram, At({8}, {64})).status().message(),
              HasSubstr("no order of arrival"));
}

TEST(AdviceTest, SumsOfAHistogramStayIn63Bits) {
  const uint64_t most = (uint64_t{1} << 62) / 8;
  EXPECT_THAT(Advise(LengthHistogram{{16, most}}, At({16})).status().message(),
              HasSubstr("2^63"));
  EXPECT_THAT(Advise(LengthHistogram{{8, most}, {4, 2 * most}}, At({16}))
                  .status()
                  .message(),
              HasSubstr("2^63"));
}

TEST(AdviceTest, OverlongSequencesAreCountedByTheirTokens) {
  // Of 40 tokens the 9 and the 20 are over-long at capacity 8.
  const LengthList list = {5, 9, 20, 6};
  const Advice advice = *Advise(list, At({8, 20}, {4}));
  const CapacityAdvice& small = advice.capacities[0];
  EXPECT_EQ(small.overlong_sequences, 2);
  EXPECT_EQ(small.overlong_tokens, 29);
  EXPECT_EQ(small.intake.packed_tokens, 11);
  EXPECT_THAT(OverlongSentence(advice, small),
              AllOf(HasSubstr("2 sequences (50.00 %)"),
                    HasSubstr("72.50 % of the tokens"), HasSubstr("dropped")));
  const CapacityAdvice& large = advice.capacities[1];
  EXPECT_EQ(large.overlong_sequences, 0);
  EXPECT_EQ(OverlongSentence(advice, large), "No sequence is over-long.");
  EXPECT_EQ(advice.recommended, 1);
  EXPECT_THAT(SpecOptions(small, small.rows[0]), HasSubstr("--overlong drop"));
  EXPECT_THAT(SpecOptions(large, large.rows[0]), Not(HasSubstr("--overlong")));
}

TEST(AdviceTest, PoliciesSayWhatBecomesOfOverlongSequences) {
  const auto sentence = [](Overlong overlong) {
    AdviceQuery query = At({8}, {4});
    query.limits.overlong = overlong;
    const Advice advice = *Advise(LengthList{5, 9, 20, 6}, query);
    return OverlongSentence(advice, advice.capacities[0]);
  };
  // 1 and 12 of 40 tokens do not fit.
  EXPECT_THAT(sentence(Overlong::kTruncate), HasSubstr("loses 32.50 %"));
  EXPECT_THAT(sentence(Overlong::kTruncateHead), HasSubstr("loses 32.50 %"));
  // 8 + 1 and 8 + 8 + 4.
  EXPECT_THAT(sentence(Overlong::kSplit), HasSubstr("into 5 pieces"));
}

TEST(AdviceTest, ACapacityThatRefusesTheListIsNotTheEnd) {
  AdviceQuery query = At({8, 20}, {4});
  query.limits.overlong = Overlong::kError;
  const LengthList list = {5, 9, 20, 6};
  const Advice advice = *Advise(list, query);
  EXPECT_THAT(advice.capacities[0].refusal,
              HasSubstr("ordinal 1 has length 9"));
  EXPECT_THAT(advice.capacities[0].rows, IsEmpty());
  EXPECT_EQ(advice.recommended, 1);
  EXPECT_THAT(AdviceText(advice, "x"), HasSubstr("cannot be packed"));
  query.capacities = {8};
  EXPECT_THAT(Advise(list, query).status().message(),
              HasSubstr("cannot be packed"));
}

TEST(AdviceTest, NothingToPack) {
  const absl::Status status = Advise(LengthList{9, 20}, At({4, 8})).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(status.message(),
              HasSubstr("2 of 2 are over-long at capacity 8"));
  EXPECT_THAT(Advise(LengthList{3, 0}, At({8})).status().message(),
              HasSubstr("ordinal 1 has length 0"));
  AdviceQuery drop_empty = At({8});
  drop_empty.limits.empty = Empty::kDrop;
  EXPECT_TRUE(Advise(LengthList{3, 0}, drop_empty).ok());
  EXPECT_FALSE(Advise(LengthList{0, 0}, drop_empty).ok());
}

TEST(AdviceTest, LimitBindsWhereCountNeedsMorePacksThanTokens) {
  // 8 sequences of 2: 2 packs of 8 by tokens; of at most 3, 3 packs by count.
  const LengthList list(8, 2);
  const auto at = [&](int64_t limit) {
    AdviceQuery query = At({8}, {8});
    query.limits.max_sequences_per_pack = limit;
    return *Advise(list, query);
  };
  const Advice binding = at(3);
  EXPECT_EQ(binding.capacities[0].packs_by_tokens, 2);
  EXPECT_EQ(binding.capacities[0].packs_by_count, 3);
  EXPECT_TRUE(binding.capacities[0].limit_binds());
  EXPECT_THAT(LimitSentence(binding, binding.capacities[0]),
              AllOf(HasSubstr("limit of 3 sequences a pack binds"),
                    HasSubstr("3 packs for 8 sequences, 2 for their tokens")));
  const Advice met = at(4);
  EXPECT_FALSE(met.capacities[0].limit_binds());
  EXPECT_THAT(LimitSentence(met, met.capacities[0]),
              HasSubstr("packs meet it"));
  const Advice loose = at(5);
  EXPECT_THAT(LimitSentence(loose, loose.capacities[0]),
              HasSubstr("no pack meets it"));
  const Advice none = at(0);
  EXPECT_EQ(LimitSentence(none, none.capacities[0]), "");
}

TEST(AdviceTest, TokensAreCountedInWhatACapacityHolds) {
  // Capacity 11 holds two footprints of 4: 5 sequences need 3 packs.
  AdviceQuery query = At({11}, {8});
  query.limits.sequence_alignment = 4;
  const Advice advice = *Advise(LengthList(5, 3), query);
  EXPECT_EQ(advice.capacities[0].packs_by_tokens, 3);
}

TEST(AdviceTest, AttentionByHand) {
  // 9 sequences: batches of 8 and of 1. 25 + 7 * 1 + 9 packed.
  const LengthList list = {5, 1, 1, 1, 1, 1, 1, 1, 3};
  const AttentionCost cost =
      Advise(list, At({10}, {16}))->capacities[0].attention;
  EXPECT_DOUBLE_EQ(cost.packed, 41 / 15.0);
  EXPECT_DOUBLE_EQ(*cost.pad_to_longest, (8 * 25 + 9) / 15.0);
  EXPECT_DOUBLE_EQ(cost.one_per_row, 9 * 100 / 15.0);
  // Pieces of 4 and 1, in place of 5.
  AdviceQuery split = At({4}, {16});
  split.limits.overlong = Overlong::kSplit;
  const AttentionCost pieces = Advise(list, split)->capacities[0].attention;
  EXPECT_DOUBLE_EQ(pieces.packed, (16 + 1 + 7 + 9) / 15.0);
  EXPECT_DOUBLE_EQ(*pieces.pad_to_longest, (8 * 16 + 2 * 9) / 15.0);
}

TEST(AdviceTest, RecommendsTheSmallestWindowThenTheFirstRule) {
  // 1001 is within a tenth of a percent of 1000, 1002 is not.
  EXPECT_EQ(RecommendedRow({Row("spfhp", 64, 1002), Row("spfhp", 256, 1001),
                            Row("lpfhp", 64, 1002), Row("lpfhp", 256, 1000)}),
            1);
  EXPECT_EQ(RecommendedRow({Row("spfhp", 64, 1002), Row("spfhp", 256, 1000),
                            Row("lpfhp", 64, 1001), Row("lpfhp", 256, 1000)}),
            2);
  EXPECT_EQ(RecommendedRow({Row("spfhp", 64, 7), Row("lpfhp", 64, 6)}), 1);
  EXPECT_EQ(RecommendedRow({}), absl::nullopt);
}

TEST(AdviceTest, OfflineRulesAreRecommendedForHistogramsOnly) {
  AdviceRow offline = Row("lpfhp", 1024, 900);
  offline.whole_list = true;
  EXPECT_EQ(RecommendedRow({offline, Row("spfhp", 64, 1000)}), 1);
  AdviceRow cheap = Row("spfhp", 1024, 1000);
  cheap.whole_list = true;
  EXPECT_EQ(RecommendedRow({cheap, offline}), 1);
}

CapacityAdvice Worth(int64_t capacity, uint64_t packed, uint64_t packs) {
  CapacityAdvice advice;
  advice.capacity = capacity;
  advice.intake.tokens = 100000;
  advice.intake.packed_tokens = packed;
  AdviceRow row = Row("spfhp", 64, packs);
  row.figures.capacity_tokens = static_cast<uint64_t>(capacity);
  row.figures.intake = advice.intake;
  advice.rows = {row};
  advice.recommended = 0;
  return advice;
}

TEST(AdviceTest, RecommendsTheSmallestCapacityOfNearlyTheBestWorth) {
  // Nothing lost, 100000 / 102400 full; and 0.05 % lost, as full.
  const CapacityAdvice whole = Worth(1024, 100000, 100);
  EXPECT_NEAR(whole.worth(), 0.9766, 1e-4);
  const CapacityAdvice nearly = Worth(512, 99950, 200);
  EXPECT_EQ(RecommendedCapacity({nearly, whole}), 0);
  EXPECT_EQ(RecommendedCapacity({whole, nearly}), 1);
  // Half of the tokens lost.
  EXPECT_EQ(RecommendedCapacity({Worth(256, 50000, 200), whole}), 1);
  // Nothing lost, but half empty.
  EXPECT_EQ(
      RecommendedCapacity({Worth(256, 99000, 400), Worth(2048, 100000, 100)}),
      0);
  EXPECT_EQ(RecommendedCapacity({CapacityAdvice(), whole}), 1);
  EXPECT_EQ(RecommendedCapacity({CapacityAdvice()}), absl::nullopt);
}

TEST(AdviceTest, SuggestedCapacitiesAreAroundTheLongest) {
  EXPECT_THAT(SuggestedCapacities({{400, 10}, {500, 5}}, 1),
              ElementsAre(512, 1024));
  EXPECT_THAT(SuggestedCapacities({{512, 1}}, 1), ElementsAre(512, 1024));
  EXPECT_THAT(SuggestedCapacities({{513, 1}}, 1), ElementsAre(1024, 2048));
  EXPECT_THAT(SuggestedCapacities({{1, 1}}, 1), ElementsAre(1, 2));
  EXPECT_THAT(SuggestedCapacities({{1, 1}}, 16), ElementsAre(16, 32));
  // 65 does not fit where 64 is cut to 60.
  EXPECT_THAT(SuggestedCapacities({{61, 1}}, 20), ElementsAre(128, 256));
  // 900 of 1,000,900 tokens are less than a tenth of a percent; 5,000 more,
  // less than a tenth.
  EXPECT_THAT(SuggestedCapacities({{100, 10000}, {900, 1}}, 1),
              ElementsAre(128, 1024, 2048));
  EXPECT_THAT(SuggestedCapacities({{100, 10000}, {500, 10}, {900, 1}}, 1),
              ElementsAre(128, 512, 1024, 2048));
}

TEST(AdviceTest, SuggestedWindowsAreShorterThanTheList) {
  EXPECT_THAT(SuggestedWindows(1), ElementsAre(64));
  EXPECT_THAT(SuggestedWindows(256), ElementsAre(64));
  EXPECT_THAT(SuggestedWindows(257), ElementsAre(64, 256));
  EXPECT_THAT(SuggestedWindows(1000000), ElementsAre(64, 256, 1024, 4096));
}

TEST(AdviceTest, CapacitiesAndWindowsAreTakenOnceAscending) {
  const Advice advice =
      *Advise(Mixed(50, 31), At({200, 100, 200}, {16, 4, 16}));
  EXPECT_THAT(advice.query.capacities, ElementsAre(100, 200));
  EXPECT_THAT(advice.query.windows, ElementsAre(4, 16));
}

TEST(AdviceTest, LimitsOutOfRangeAreNamed) {
  AdviceQuery query = At({16, 8});
  query.limits.sequence_alignment = 10;
  EXPECT_THAT(Advise(LengthList{1}, query).status().message(),
              HasSubstr("sequence_alignment is 10, it must be from 1 to 8"));
}

TEST(AdviceTest, OptionsAreAllThatTheRowNeeds) {
  CapacityAdvice capacity;
  AdviceRow row = Row("sliding", 256, 1);
  row.whole_list = false;
  row.spec.capacity_tokens = 4096;
  row.spec.overlong = Overlong::kSplit;
  EXPECT_EQ(SpecOptions(capacity, row),
            "--capacity 4096 --algorithm sliding --window 256");
  row.spec.effort = Effort::kFast;
  row.spec.max_sequences_per_pack = 8;
  row.spec.sequence_alignment = 64;
  capacity.overlong_sequences = 1;
  capacity.intake.empty_sequences = 1;
  row.spec.empty = Empty::kDrop;
  EXPECT_EQ(SpecOptions(capacity, row),
            "--capacity 4096 --algorithm sliding --window 256 --effort fast "
            "--max-sequences 8 --alignment 64 --overlong split --empty drop");
}

TEST(AdviceTest, JsonHasTheFigures) {
  const Advice advice = *Advise(LengthList{5, 3, 4, 4, 8}, At({8}, {4, 8}));
  const nlohmann::json json = nlohmann::json::parse(AdviceJson(advice));
  for (const char* key : {"sequences", "tokens", "ordered", "lengths",
                          "max_sequences", "alignment", "overlong", "empty",
                          "windows", "capacities", "recommended", "seconds"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["tokens"], 24);
  EXPECT_EQ(json["overlong"], "drop");
  const nlohmann::json& capacity = json["capacities"][0];
  EXPECT_EQ(capacity["capacity"], 8);
  EXPECT_EQ(capacity["lower_bound_packs"], 3);
  EXPECT_EQ(capacity["lower_bound_efficiency"], 1.0);
  EXPECT_TRUE(capacity["limit_binds"].is_null());
  EXPECT_EQ(capacity["attention_per_token"]["packed"], 130 / 24.0);
  const nlohmann::json& row = capacity["rows"][0];
  EXPECT_EQ(row["algorithm"], "spfhp");
  EXPECT_EQ(row["window"], 4);
  EXPECT_EQ(row["packs"], 3);
  EXPECT_EQ(row["efficiency"], 1.0);
  EXPECT_EQ(row["most_sequences"], 2);
  EXPECT_EQ(json["recommended"]["options"],
            "--capacity 8 --algorithm spfhp --window 4");
}

TEST(AdviceTest, TextIsAtMost80ColumnsWide) {
  AdviceQuery query;
  query.limits.max_sequences_per_pack = 12;
  query.all = true;
  const Advice advice = *Advise(Mixed(5000, 10007), query);
  const std::string text = AdviceText(advice, "list.txt");
  size_t column = 0;
  for (const char c : text) {
    if (c == '\n') column = 0;
    if (c != '\n' && (static_cast<unsigned char>(c) & 0xC0) != 0x80) ++column;
    ASSERT_LE(column, 80) << text;
  }
  EXPECT_THAT(text, AllOf(HasSubstr("list.txt: 5,000 sequences"),
                          HasSubstr("Recommended"), HasSubstr("█"),
                          HasSubstr("lower bound")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(AdviceTest, PageEscapesTheName) {
  const Advice advice = *Advise(LengthList{5, 3}, At({8}));
  const std::string page =
      AdviceHtml(advice, "dir/<b>\"&'\x01\xff\xEF\xBF\xBE.txt");
  EXPECT_THAT(page, HasSubstr("<h1>Packing &lt;b&gt;&quot;&amp;&#39; "));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("\xff")));
  EXPECT_THAT(page, Not(HasSubstr("\xEF\xBF\xBE")));
}

TEST(AdviceTest, PageNeedsNothingElse) {
  const std::string page = AdviceHtml(*Advise(Mixed(300, 101), At({128})), "x");
  for (const char* outside : {"<script", "href=", "src=", "url(", "@import"}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
}

TEST(LengthBinsTest, EveryLengthIsInOneBin) {
  std::vector<LengthCount> lengths;
  for (uint32_t length = 0; length < 3000; length += 7) {
    lengths.push_back({length, length % 5 + 1});
  }
  lengths.push_back({0xFFFFFFFF, 2});
  for (const size_t max_bins : {32u, 64u, 128u, 1000u}) {
    const std::vector<LengthBin> bins = LengthBins(lengths, max_bins);
    EXPECT_LE(bins.size(), max_bins);
    EXPECT_EQ(bins.back().longest, 0xFFFFFFFF);
    for (size_t i = 0; i < bins.size(); ++i) {
      if (i > 0) {
        EXPECT_EQ(bins[i].shortest, bins[i - 1].longest + 1);
      }
      uint64_t sequences = 0;
      uint64_t tokens = 0;
      for (const LengthCount& c : lengths) {
        if (c.length < bins[i].shortest || c.length > bins[i].longest) continue;
        sequences += c.count;
        tokens += c.count * c.length;
      }
      EXPECT_EQ(bins[i].sequences, sequences);
      EXPECT_EQ(bins[i].tokens, tokens);
    }
  }
}

TEST(LengthBinsTest, AsFineAsTheRoomAllows) {
  const std::vector<LengthCount> lengths = {{100, 1}, {199, 1}};
  EXPECT_EQ(LengthBins(lengths, 16).size(), 9);  // 91 to 200 by 8ths
  EXPECT_EQ(LengthBins(lengths, 8).size(), 5);
  EXPECT_THAT(LengthBins({{0, 5}}, 16), IsEmpty());
}

TEST(QuantileTest, ByHand) {
  const std::vector<LengthCount> lengths = {{1, 5}, {2, 4}, {9, 1}};
  EXPECT_EQ(Quantile(lengths, 0.1), 1);
  EXPECT_EQ(Quantile(lengths, 0.5), 1);
  EXPECT_EQ(Quantile(lengths, 0.51), 2);
  EXPECT_EQ(Quantile(lengths, 0.9), 2);
  EXPECT_EQ(Quantile(lengths, 0.99), 9);
}

TEST(AdviceWordsTest, Numbers) {
  EXPECT_EQ(ShortNumber(2.314), "2.31");
  EXPECT_EQ(ShortNumber(46.04), "46.0");
  EXPECT_EQ(ShortNumber(999.4), "999.4");
  EXPECT_EQ(ShortNumber(1234.5), "1,235");
  EXPECT_EQ(ShortNumber(1e20), "1e+20");
  EXPECT_EQ(PercentText(1), "100.00 %");
  EXPECT_EQ(PercentText(0.99999), "99.99 %");
  EXPECT_EQ(Counted(1, "pack"), "1 pack");
  EXPECT_EQ(Counted(2000, "pack"), "2,000 packs");
}

}  // namespace
}  // namespace packhouse
