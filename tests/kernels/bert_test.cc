#include "packhouse/bert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "packhouse/fill.h"
#include "tests/kernels/test_batch.h"

namespace packhouse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BertTest : public ::testing::Test {
 protected:
  absl::Status Fill() {
    const int64_t tokens = layout_.tokens();
    for (auto* array :
         {&input_ids_, &segment_ids_, &input_mask_, &positions_}) {
      array->assign(tokens, -7);
    }
    lm_positions_.assign(layout_.rows() * options_.max_masked, -7);
    lm_ids_ = lm_positions_;
    lm_mask_.assign(lm_ids_.size(), -7);
    nsp_labels_.assign(layout_.rows() * options_.max_sequences, -7);
    nsp_mask_.assign(nsp_labels_.size(), -7);
    BertSources sources;
    sources.tokens = tokens_;
    sources.token_types = types_;
    sources.masked_offsets = masked_offsets_;
    sources.masked_positions = masked_positions_;
    sources.masked_ids = masked_ids_;
    sources.next_sentence_labels = next_labels_;
    BertOutputs outputs;
    outputs.input_ids = absl::MakeSpan(input_ids_);
    outputs.segment_ids = absl::MakeSpan(segment_ids_);
    outputs.input_mask = absl::MakeSpan(input_mask_);
    outputs.position_ids = absl::MakeSpan(positions_);
    outputs.masked_lm_positions = absl::MakeSpan(lm_positions_);
    outputs.masked_lm_ids = absl::MakeSpan(lm_ids_);
    outputs.masked_lm_mask = absl::MakeSpan(lm_mask_);
    outputs.next_sentence_labels = absl::MakeSpan(nsp_labels_);
    outputs.next_sentence_mask = absl::MakeSpan(nsp_mask_);
    return FillBert(layout_, options_, sources, outputs);
  }

  void ExpectRefused(const std::string& text) {
    const absl::Status status = Fill();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_THAT(input_ids_, ::testing::Each(-7));
    EXPECT_THAT(nsp_mask_, ::testing::Each(-7));
  }

  // Rows of 8: sequences of 4 and 2, and one of 3.
  BatchLayout layout_ = *LayoutOf(RowsOf(8), {{4, 2}, {3}});
  BertOptions options_ = {3, 4};
  std::vector<int32_t> tokens_ = {101, 5, 6, 7, 102, 8, 103, 9, 10};
  std::vector<int32_t> types_ = {0, 0, 1, 1, 0, 1, 0, 0, 1};
  std::vector<uint64_t> masked_offsets_ = {0, 2, 3, 4};
  std::vector<int32_t> masked_positions_ = {1, 3, 1, 2};
  std::vector<int32_t> masked_ids_ = {55, 77, 88, 1010};
  std::vector<int32_t> next_labels_ = {1, 0, 1};

  std::vector<int32_t> input_ids_, segment_ids_, input_mask_, positions_;
  std::vector<int32_t> lm_positions_, lm_ids_, nsp_labels_;
  std::vector<float> lm_mask_, nsp_mask_;
};

TEST_F(BertTest, BodiesInFrontFirstTokensAtTheEnd) {
  ASSERT_TRUE(Fill().ok());
  EXPECT_THAT(input_ids_, ElementsAre(5, 6, 7, 8, 0, 0, 102, 101,  //
                                      9, 10, 0, 0, 0, 0, 0, 103));
  EXPECT_THAT(segment_ids_, ElementsAre(0, 1, 1, 1, 0, 0, 0, 0,  //
                                        0, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(input_mask_, ElementsAre(1, 1, 1, 2, 0, 0, 2, 1,  //
                                       1, 1, 0, 0, 0, 0, 0, 1));
  EXPECT_THAT(positions_, ElementsAre(1, 2, 3, 1, 0, 0, 0, 0,  //
                                      1, 2, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(lm_positions_, ElementsAre(0, 2, 3, 0, 1, 0, 0, 0));
  EXPECT_THAT(lm_ids_, ElementsAre(55, 77, 88, 0, 1010, 0, 0, 0));
  EXPECT_THAT(lm_mask_, ElementsAre(1, 1, 2, 0, 1, 0, 0, 0));
  EXPECT_THAT(nsp_labels_, ElementsAre(0, 0, 1, 0, 0, 1));
  EXPECT_THAT(nsp_mask_, ElementsAre(0, 1, 1, 0, 0, 1));
}

// Its mask: tokens of one sequence attend each other, wherever they stand.
TEST_F(BertTest, MaskOfEqualNumbers) {
  ASSERT_TRUE(Fill().ok());
  Tensor ids = SourceOf(&input_mask_);
  ids.shape = {2, 8};
  const Memory mask(DType::kBool, {2, 1, 8, 8});
  ASSERT_TRUE(
      FillEqualityMask(ids, {MaskKind::kDocument, 0}, {}, mask.tensor()).ok());
  const Values values = mask.values();
  EXPECT_THAT(Values(values.begin(), values.begin() + 8),
              ElementsAre(1, 1, 1, 0, 0, 0, 0, 1));
  EXPECT_THAT(Values(values.begin() + 24, values.begin() + 32),
              ElementsAre(0, 0, 0, 1, 0, 0, 1, 0));
}

TEST_F(BertTest, WrongInput) {
  options_.max_sequences = 1;
  ExpectRefused("row 0 has more than 1 sequences");
  options_ = {3, 2};
  ExpectRefused("row 0 has 3 masked tokens or more, it has room for 2");
  options_ = {0, 2};
  ExpectRefused("max_sequences is 0");
  options_ = {3, 4};
  masked_positions_[1] = 4;
  ExpectRefused("masked position 1 is 4, its sequence has 4 tokens");
  masked_positions_[1] = 3;
  masked_offsets_ = {0, 3, 2, 4};
  ExpectRefused("descend");
  masked_offsets_ = {0, 2, 3, 3};
  ExpectRefused("from 0 to 4");
  masked_offsets_ = {0, 2, 3, 4};
  tokens_.pop_back();
  ExpectRefused("tokens has 8 elements, it must have 9");
  tokens_.push_back(10);
  types_[2] = 2;
  ExpectRefused("token type 2 is 2, it must be 0 or 1");
  types_[2] = 1;
  LayoutSpec flat = RowsOf(8);
  flat.flat = true;
  layout_ = *LayoutOf(flat, {{4, 2}, {3}});
  ExpectRefused("2 packs in 1 row");
}

}  // namespace
}  // namespace packhouse
