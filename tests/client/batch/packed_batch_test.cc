#include "packhouse/packed_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "packhouse/packer.h"
#include "tests/kernels/test_batch.h"
#include "tests/packs.h"

namespace packhouse {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Token i of sequence k.
int32_t TokenOf(uint64_t ordinal, uint32_t i) {
  return static_cast<int32_t>(1000 * (ordinal + 1) + i);
}

struct Corpus {
  explicit Corpus(const std::vector<uint32_t>& sizes) : lengths(sizes) {
    for (uint64_t ordinal = 0; ordinal < sizes.size(); ++ordinal) {
      std::vector<int32_t> ids, label_ids;
      for (uint32_t i = 0; i < sizes[ordinal]; ++i) {
        ids.push_back(TokenOf(ordinal, i));
        label_ids.push_back(i % 3 == 0 ? -100 : -TokenOf(ordinal, i));
      }
      tokens.push_back(ids);
      labels.push_back(label_ids);
    }
  }
  SequenceData operator()(uint64_t ordinal) const {
    return {tokens[ordinal].data(), labels[ordinal].data()};
  }

  std::vector<uint32_t> lengths;
  std::vector<std::vector<int32_t>> tokens;
  std::vector<std::vector<int32_t>> labels;
};

Packs PackAll(const PackSpec& spec, const std::vector<uint32_t>& lengths) {
  Packer packer = *Packer::Create(spec);
  Packs packs;
  EXPECT_TRUE(packer.Add(lengths, &packs).ok());
  EXPECT_TRUE(packer.Finish(&packs).ok());
  return packs;
}

// Every policy and mode: tokens come to where the packs say, and what was
// computed for each token comes back to its sequence.
TEST(PackedBatchTest, ThereAndBack) {
  const Overlong policies[] = {Overlong::kDrop, Overlong::kTruncate,
                               Overlong::kTruncateHead, Overlong::kSplit};
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    PackSpec spec = MakeSpec(20 + random() % 30, 1 + random() % 20);
    spec.overlong = policies[seed % 4];
    spec.sequence_alignment = seed % 3 == 0 ? 4 : 1;
    const Corpus corpus(RandomLengths(random() % 40, 70, &random));
    const Packs packs = PackAll(spec, corpus.lengths);
    if (packs.empty()) continue;
    PadMode mode = static_cast<PadMode>(random() % 6);
    if (spec.sequence_alignment != 1 && mode == PadMode::kTrim) {
      mode = PadMode::kSlots;
    }
    const bool go_on = random() % 2 == 0;
    absl::StatusOr<PackedBatch> batch =
        PackedBatch::Make(spec, mode, packs, corpus.lengths, 0,
                          /*flat=*/random() % 2 == 0, go_on);
    ASSERT_TRUE(batch.ok()) << batch.status();
    const BatchLayout& layout = batch->layout();
    const std::vector<int64_t> shape = {layout.rows(), layout.row_tokens()};
    const Memory ids(DType::kInt64, shape);
    const Memory labels(DType::kInt64, shape);
    const Memory positions(DType::kInt64, shape);
    FormatOptions options;
    options.label_shift = LabelShift::kNone;
    options.pad_id = -1;
    ASSERT_TRUE(batch
                    ->Fill(options, DType::kInt32, corpus,
                           {{Format::kInputIds, ids.tensor()},
                            {Format::kLabels, labels.tensor()},
                            {Format::kPositionIds, positions.tensor()}})
                    .ok());

    // By the packs: unit by unit.
    const Values seen = ids.values();
    int64_t padding = 0;
    for (int64_t id : seen) padding += id == -1;
    ASSERT_EQ(padding, layout.tokens() - layout.sequence_tokens());
    ASSERT_EQ(batch->units().size(), packs.ordinals.size());
    for (size_t i = 0; i < packs.ordinals.size(); ++i) {
      const PackedUnit& unit = batch->units()[i];
      ASSERT_EQ(unit.ordinal, packs.ordinals[i]);
      ASSERT_EQ(unit.source_offset, packs.source_offset(i));
      if (mode != PadMode::kTrim) {
        ASSERT_EQ(unit.begin / spec.capacity_tokens, unit.pack);
      }
      for (uint32_t t = 0; t < unit.tokens; ++t) {
        const uint32_t place = unit.source_offset + t;
        ASSERT_EQ(seen[unit.begin + t], TokenOf(unit.ordinal, place));
        ASSERT_EQ(labels.values()[unit.begin + t],
                  corpus.labels[unit.ordinal][place]);
        ASSERT_EQ(positions.values()[unit.begin + t], go_on ? place : t);
      }
    }

    // Back: each token to where it came from.
    std::vector<std::vector<int64_t>> returned;
    for (uint32_t length : corpus.lengths) returned.emplace_back(length, 0);
    batch->UnpackTokens(ids.tensor().data, sizeof(int64_t),
                        [&](const PackedUnit& unit) -> void* {
                          return returned[unit.ordinal].data() +
                                 unit.source_offset;
                        });
    int64_t back = 0;
    for (uint64_t ordinal = 0; ordinal < returned.size(); ++ordinal) {
      for (uint32_t t = 0; t < returned[ordinal].size(); ++t) {
        if (returned[ordinal][t] == 0) continue;
        ASSERT_EQ(returned[ordinal][t], TokenOf(ordinal, t));
        ++back;
      }
    }
    ASSERT_EQ(back, layout.sequence_tokens());
  }
}

class PackedBatchBasicsTest : public ::testing::Test {
 protected:
  const PackSpec spec_ = MakeSpec(8, 4);
  const Corpus corpus_{{5, 3, 6}};
  const Packs packs_ = MakePacks({{0, 1}, {2}});
};

TEST_F(PackedBatchBasicsTest, OneTokenAndOneValueOfEachUnit) {
  const PackedBatch batch =
      *PackedBatch::Make(spec_, PadMode::kSegment, packs_, corpus_.lengths, 0);
  std::vector<int16_t> of_token(16);
  for (int t = 0; t < 16; ++t) of_token[t] = static_cast<int16_t>(t);
  std::vector<int16_t> result(3);
  const auto place = [&](const PackedUnit& unit) -> void* {
    return unit.ordinal == 1 ? nullptr : &result[unit.ordinal];
  };
  batch.UnpackToken(PackedBatch::Token::kFirst, of_token.data(), 2, place);
  EXPECT_THAT(result, ElementsAre(0, 0, 8));
  batch.UnpackToken(PackedBatch::Token::kLast, of_token.data(), 2, place);
  EXPECT_THAT(result, ElementsAre(4, 0, 13));
  const std::vector<int16_t> of_unit = {70, 71, 72};
  batch.UnpackUnits(of_unit.data(), 2, place);
  EXPECT_THAT(result, ElementsAre(70, 0, 72));
}

// Formats in one buffer of the caller, whose size is known before.
TEST_F(PackedBatchBasicsTest, OneBuffer) {
  PackedBatch batch =
      *PackedBatch::Make(spec_, PadMode::kSegment, packs_, corpus_.lengths, 0);
  const std::vector<Format> formats = {Format::kCuSeqlens, Format::kInputIds,
                                       Format::kPaddingMask};
  const FormatOptions options;
  const int64_t bytes = *RequiredBytes(formats, batch.layout(), options);
  EXPECT_EQ(bytes, 64 + 128 + 64);
  std::vector<char> store(bytes + 64);
  char* const buffer = reinterpret_cast<char*>(
      (reinterpret_cast<uintptr_t>(store.data()) + 63) / 64 * 64);
  const std::vector<Output> outputs =
      *OutputsIn(formats, batch.layout(), options, buffer, bytes);
  ASSERT_TRUE(batch.Fill(options, DType::kInt32, corpus_, outputs).ok());
  const auto* offsets = static_cast<const int32_t*>(outputs[0].tensor.data);
  EXPECT_EQ(offsets[4], 16);
  const auto* ids = static_cast<const int64_t*>(outputs[1].tensor.data);
  EXPECT_EQ(ids[8], TokenOf(2, 0));
  EXPECT_EQ(static_cast<const uint8_t*>(outputs[2].tensor.data)[15], 1);

  const auto error = [&](char* at, int64_t size) {
    return std::string(OutputsIn(formats, batch.layout(), options, at, size)
                           .status()
                           .message());
  };
  EXPECT_EQ(error(buffer, bytes - 1),
            "the buffer has 255 bytes, the formats take 256");
  EXPECT_THAT(error(buffer + 8, bytes), HasSubstr("multiple of 64"));
  EXPECT_EQ(error(nullptr, bytes),
            "the buffer is null, the formats take 256 bytes");
}

// Formats that follow from lengths alone ask for no tokens.
TEST_F(PackedBatchBasicsTest, TokensAreAskedForWhereTheyAreNeeded) {
  PackedBatch batch =
      *PackedBatch::Make(spec_, PadMode::kTrim, packs_, corpus_.lengths, 0);
  const Memory offsets(DType::kInt32, {4});
  const auto none = [](uint64_t) -> SequenceData {
    ADD_FAILURE() << "asked";
    return {};
  };
  EXPECT_TRUE(batch
                  .Fill({}, DType::kInt32, none,
                        {{Format::kCuSeqlens, offsets.tensor()}})
                  .ok());
  EXPECT_THAT(offsets.values(), ElementsAre(0, 5, 8, 14));
}

TEST_F(PackedBatchBasicsTest, WrongPacks) {
  const auto error = [&](const Packs& packs, uint64_t first = 0) {
    const absl::Status status = PackedBatch::Make(spec_, PadMode::kSegment,
                                                  packs, corpus_.lengths, first)
                                    .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(error(MakePacks({{0, 3}})),
              HasSubstr("pack 0 holds ordinal 3, there are lengths of 3 from "
                        "ordinal 0 on"));
  EXPECT_THAT(error(packs_, 1), HasSubstr("holds ordinal 0"));
  EXPECT_THAT(error(MakePacks({{0, 2}})),
              HasSubstr("row 0 has 11 tokens in 2 sequences"));
  Packs piece = packs_;
  piece.source_offsets = {2, 0, 0};
  EXPECT_THAT(error(piece), HasSubstr("ordinal 0 from token 2 on: of a "
                                      "sequence of 5 tokens the spec makes no "
                                      "such unit"));
}

// Columns that do not fit together are refused, and nothing is read beyond.
TEST_F(PackedBatchBasicsTest, MalformedPacks) {
  const auto expect_refused = [&](const std::vector<uint64_t>& offsets,
                                  const std::vector<uint32_t>& source_offsets) {
    Packs packs = packs_;
    packs.offsets = offsets;
    packs.source_offsets = source_offsets;
    EXPECT_EQ(
        PackedBatch::Make(spec_, PadMode::kSegment, packs, corpus_.lengths, 0)
            .status()
            .code(),
        absl::StatusCode::kInvalidArgument);
  };
  expect_refused({}, {});
  expect_refused({0}, {});
  expect_refused({1, 3}, {});
  expect_refused({0, 2, 9}, {});
  expect_refused({0, 9, 3}, {});
  expect_refused({0, 2, 3}, {0, 0});
}

// What the spec refuses is not cut in silence.
TEST_F(PackedBatchBasicsTest, OverlongSequences) {
  const absl::Status status =
      PackedBatch::Make(spec_, PadMode::kSegment, MakePacks({{0}}), {9}, 0)
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("9"), HasSubstr("8")));
}

// A loader may use one buffer for all sequences.
TEST_F(PackedBatchBasicsTest, AnswersAreCopiedAtOnce) {
  PackedBatch batch =
      *PackedBatch::Make(spec_, PadMode::kTrim, packs_, corpus_.lengths, 0);
  std::vector<uint16_t> tokens(8);
  std::vector<int64_t> labels(8);
  const Memory ids(DType::kInt32, {1, 14});
  const Memory label_ids(DType::kInt64, {1, 14});
  FormatOptions options;
  options.label_shift = LabelShift::kNone;
  ASSERT_TRUE(batch
                  .Fill(options, {DType::kUint16, DType::kInt64},
                        [&](uint64_t ordinal) -> SequenceData {
                          std::fill(tokens.begin(), tokens.end(), ordinal);
                          std::fill(labels.begin(), labels.end(),
                                    -100 - ordinal);
                          return {tokens.data(), labels.data()};
                        },
                        {{Format::kInputIds, ids.tensor()},
                         {Format::kLabels, label_ids.tensor()}})
                  .ok());
  EXPECT_THAT(ids.values(),
              ElementsAre(0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2));
  EXPECT_EQ(label_ids.values().back(), -102);
}

TEST_F(PackedBatchBasicsTest, OutputsAreCheckedBeforeTokensAreAskedFor) {
  PackedBatch batch =
      *PackedBatch::Make(spec_, PadMode::kTrim, packs_, corpus_.lengths, 0);
  const Memory ids(DType::kInt64, {1, 15});
  const auto none = [](uint64_t) -> SequenceData {
    ADD_FAILURE() << "asked";
    return {};
  };
  const absl::Status status =
      batch.Fill({}, DType::kInt32, none, {{Format::kInputIds, ids.tensor()}});
  EXPECT_THAT(std::string(status.message()), HasSubstr("must be [1, 14]"));
}

TEST_F(PackedBatchBasicsTest, WrongTokens) {
  PackedBatch batch =
      *PackedBatch::Make(spec_, PadMode::kSegment, packs_, corpus_.lengths, 0);
  const Memory ids(DType::kInt64, {2, 8});
  const auto error = [&](DType dtype, const auto& data) {
    const absl::Status status =
        batch.Fill({}, dtype, data, {{Format::kInputIds, ids.tensor()}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(ids.untouched());
    return std::string(status.message());
  };
  EXPECT_THAT(error(DType::kFloat32, corpus_), HasSubstr("type float32"));
  EXPECT_THAT(error(DType::kInt32,
                    [&](uint64_t ordinal) {
                      return ordinal == 1 ? SequenceData{} : corpus_(ordinal);
                    }),
              HasSubstr("no tokens of ordinal 1"));
  EXPECT_THAT(error(DType::kInt32,
                    [&](uint64_t ordinal) {
                      SequenceData data = corpus_(ordinal);
                      if (ordinal == 2) data.labels = nullptr;
                      return data;
                    }),
              HasSubstr("ordinal 2 has no labels, those before it have"));
}

}  // namespace
}  // namespace packhouse
