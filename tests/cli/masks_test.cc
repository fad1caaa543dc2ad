// What `masks` prints and draws, against the dense mask that Fill writes.

#include "client/cli/masks/masks.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/masks/mask_array.h"
#include "client/cli/masks/mask_drawing.h"
#include "client/cli/masks/mask_picture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using absl::StatusCode;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

BatchLayout MakeLayout(const LayoutSpec& spec,
                       const std::vector<std::vector<uint32_t>>& rows) {
  std::vector<uint32_t> lengths;
  std::vector<uint64_t> offsets = {0};
  for (const auto& row : rows) {
    lengths.insert(lengths.end(), row.begin(), row.end());
    offsets.push_back(lengths.size());
  }
  absl::StatusOr<BatchLayout> layout =
      BatchLayout::Make(spec, lengths, offsets);
  EXPECT_THAT(layout, IsOk());
  return *std::move(layout);
}

LayoutSpec SpecOf(int64_t row_tokens, PadMode mode = PadMode::kSegment) {
  LayoutSpec spec;
  spec.row_tokens = row_tokens;
  spec.pad_mode = mode;
  return spec;
}

// The dense mask, whether tokens are padding, and the number of each token's
// sequence in its row.
struct Truth {
  std::vector<uint8_t> dense;
  std::vector<uint8_t> padding;
  std::vector<int32_t> sequence;
  int64_t tokens;  // of a row

  bool attends(int64_t row, int64_t q, int64_t k) const {
    return dense[(row * tokens + q) * tokens + k] != 0;
  }
  bool padded(int64_t row, int64_t q, int64_t k) const {
    return padding[row * tokens + q] != 0 || padding[row * tokens + k] != 0;
  }
};

Truth TruthOf(const BatchLayout& layout, const FormatOptions& options) {
  Truth truth;
  truth.tokens = layout.row_tokens();
  truth.dense.resize(layout.tokens() * layout.row_tokens());
  truth.padding.resize(layout.tokens());
  truth.sequence.resize(layout.tokens());
  const std::vector<int64_t> shape = {layout.rows(), layout.row_tokens()};
  Tensor dense;
  dense.data = truth.dense.data();
  dense.dtype = DType::kBool;
  dense.shape = {shape[0], 1, shape[1], shape[1]};
  Tensor padding;
  padding.data = truth.padding.data();
  padding.dtype = DType::kBool;
  padding.shape = shape;
  Tensor sequence;
  sequence.data = truth.sequence.data();
  sequence.shape = shape;
  EXPECT_THAT(Fill(layout, options, Sources(),
                   {{Format::kDenseMask, dense},
                    {Format::kPaddingMask, padding},
                    {Format::kSeqIdx, sequence}}),
              IsOk());
  return truth;
}

// ------------------------------------------------------------------ drawing --

// What stands for the pairs of a cell, from the pairs one by one.
char NaiveCharacter(const Truth& truth, int64_t row, int64_t q, int64_t q_end,
                    int64_t k, int64_t k_end) {
  int64_t real = 0;
  int64_t padding = 0;
  int32_t sequence = 0;
  for (int64_t i = q; i < q_end; ++i) {
    for (int64_t j = k; j < k_end; ++j) {
      if (!truth.attends(row, i, j)) continue;
      const bool padded = truth.padded(row, i, j);
      if (!padded && real == 0)
        sequence = truth.sequence[row * truth.tokens + i];
      ++(padded ? padding : real);
    }
  }
  const bool all = real + padding == (q_end - q) * (k_end - k);
  if (real > 0) return static_cast<char>((all ? 'A' : 'a') + sequence % 26);
  if (padding > 0) return all ? '#' : '+';
  return '.';
}

std::string Drawn(const BatchLayout& layout, const FormatOptions& options) {
  std::ostringstream out;
  DrawMask(layout, options, out);
  return out.str();
}

TEST(DrawMaskTest, GoldenBatch) {
  const BatchLayout layout = MakeLayout(SpecOf(6), {{2, 1}, {6}});
  EXPECT_EQ(Drawn(layout, FormatOptions()),
            "\n"
            "a line is a query, a column a key; A, B, ... attend within the\n"
            "sequences of a row, # is padding that attends, . does not attend\n"
            "\n"
            "row 0\n"
            "0 A . . . . .\n"
            "1 A A . . . .\n"
            "2 . . B . . .\n"
            "3 . . . # . .\n"
            "4 . . . # # .\n"
            "5 . . . # # #\n"
            "\n"
            "row 1\n"
            "0 A . . . . .\n"
            "1 A A . . . .\n"
            "2 A A A . . .\n"
            "3 A A A A . .\n"
            "4 A A A A A .\n"
            "5 A A A A A A\n");
}

// Every cell is what its pairs say, at every scale, in 80 columns.
TEST(DrawMaskTest, CellsAreTheDenseMask) {
  std::mt19937 random(1);
  for (const int64_t tokens : {1, 2, 38, 39, 40, 77, 78, 79, 200, 1500}) {
    for (const PadMode mode : {PadMode::kSegment, PadMode::kMasked,
                               PadMode::kMergeLast, PadMode::kSingletons}) {
      SCOPED_TRACE(absl::StrCat(tokens, " ", PadModeName(mode)));
      std::vector<uint32_t> row;
      for (int64_t left = tokens; left > 0;) {
        const uint32_t length = 1 + random() % (tokens / 3 + 1);
        if (length > left) break;
        row.push_back(length);
        left -= length;
      }
      const BatchLayout layout = MakeLayout(SpecOf(tokens, mode), {row});
      FormatOptions options;
      options.mask = {MaskKind::kSymmetricWindow,
                      static_cast<int32_t>(random() % 50)};
      const Truth truth = TruthOf(layout, options);
      const std::string drawn = Drawn(layout, options);
      const std::vector<std::string> lines = absl::StrSplit(drawn, '\n');
      int64_t q_step = 1;
      int64_t k_step = 1;
      const int64_t margin = absl::StrCat(tokens - 1).size();
      bool spaced = true;
      if (2 * tokens + margin + 1 > 80) {
        spaced = false;
        k_step = (tokens + 80 - margin - 2) / (80 - margin - 1);
        q_step = 2 * k_step;
        EXPECT_THAT(lines[1],
                    StartsWith(absl::StrCat("a line is ", q_step,
                                            " queries, a column ", k_step)));
      }
      size_t at = 4;
      for (int64_t q = 0; q < tokens; q += q_step) {
        std::string line = absl::StrCat(q);
        line.insert(0, margin - line.size(), ' ');
        if (!spaced) line += ' ';
        for (int64_t k = 0; k < tokens; k += k_step) {
          if (spaced) line += ' ';
          line += NaiveCharacter(truth, 0, q, std::min(tokens, q + q_step), k,
                                 std::min(tokens, k + k_step));
        }
        ASSERT_LT(at, lines.size());
        ASSERT_LE(line.size(), 80);
        ASSERT_EQ(lines[at++], line);
      }
      EXPECT_EQ(at, lines.size() - 1);
    }
  }
}

TEST(DrawMaskTest, SaysHowManyRowsAreLeftOut) {
  const std::vector<std::vector<uint32_t>> rows(kMaxDrawnRows + 3,
                                                std::vector<uint32_t>{1});
  const std::string drawn = Drawn(MakeLayout(SpecOf(2), rows), FormatOptions());
  EXPECT_THAT(drawn, HasSubstr("row 7"));
  EXPECT_THAT(drawn, testing::Not(HasSubstr("row 8")));
  EXPECT_THAT(drawn, HasSubstr("\nand 3 rows more\n"));
}

// ------------------------------------------------------------------ picture --

using Pixel = std::array<uint8_t, 3>;

struct Picture {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<Pixel> pixels;

  Pixel at(int64_t x, int64_t y) const { return pixels[y * width + x]; }
};

Picture ReadPng(const std::string& file) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  Picture picture;
  EXPECT_NE(png_image_begin_read_from_memory(&image, file.data(), file.size()),
            0);
  image.format = PNG_FORMAT_RGB;
  picture.width = image.width;
  picture.height = image.height;
  picture.pixels.resize(picture.width * picture.height);
  EXPECT_NE(
      png_image_finish_read(&image, nullptr, picture.pixels.data(), 0, nullptr),
      0);
  return picture;
}

Picture Painted(const BatchLayout& layout, const FormatOptions& options,
                absl::optional<BlockShape> blocks = absl::nullopt) {
  const absl::StatusOr<std::string> file = MaskPng(layout, options, blocks);
  EXPECT_THAT(file, IsOk());
  return ReadPng(*file);
}

constexpr Pixel kGrey = {150, 150, 150};
constexpr Pixel kWhite = {255, 255, 255};
constexpr Pixel kLightGrey = {238, 238, 238};

// A pair is a square of 32 pixels; the frame is one wide, the gap eight.
TEST(MaskPictureTest, EveryPairIsASquareOfItsColour) {
  for (const PadMode mode :
       {PadMode::kSegment, PadMode::kMasked, PadMode::kMergeLast}) {
    const BatchLayout layout =
        MakeLayout(SpecOf(12, mode), {{5, 3}, {12}, {1, 1, 1}});
    FormatOptions options;
    options.mask.kind = MaskKind::kDocument;
    const Truth truth = TruthOf(layout, options);
    const Picture picture = Painted(layout, options);
    const int64_t side = 12 * 32 + 2;
    ASSERT_EQ(picture.width, 2 * (side + 8) + 8);
    ASSERT_EQ(picture.height, 2 * (side + 8) + 8);
    std::vector<Pixel> colours;  // of the sequences of a row, in order
    for (int64_t row = 0; row < 3; ++row) {
      const int64_t x = 8 + row % 2 * (side + 8) + 1;
      const int64_t y = 8 + row / 2 * (side + 8) + 1;
      for (int64_t q = 0; q < 12; ++q) {
        for (int64_t k = 0; k < 12; ++k) {
          const Pixel pixel = picture.at(x + 32 * k, y + 32 * q);
          for (int64_t i = 0; i < 32; ++i) {
            ASSERT_EQ(picture.at(x + 32 * k + i, y + 32 * q + 31 - i), pixel);
          }
          const bool padded = truth.padded(row, q, k);
          if (!truth.attends(row, q, k)) {
            EXPECT_EQ(pixel, padded ? kLightGrey : kWhite);
          } else if (padded) {
            EXPECT_EQ(pixel, kGrey);
          } else {
            const size_t sequence = truth.sequence[row * 12 + q];
            if (sequence == colours.size()) colours.push_back(pixel);
            ASSERT_LT(sequence, colours.size());
            EXPECT_EQ(pixel, colours[sequence]);
          }
        }
      }
    }
    std::sort(colours.begin(), colours.end());
    EXPECT_EQ(std::unique(colours.begin(), colours.end()), colours.end());
    EXPECT_EQ(colours.size(), 3);
  }
}

// Of 2500 tokens a pixel is the mean of 3 x 3 pairs.
TEST(MaskPictureTest, LongRowsAreScaledDown) {
  const BatchLayout layout = MakeLayout(SpecOf(2500), {{2500}});
  const Picture picture = Painted(layout, FormatOptions());
  ASSERT_EQ(picture.width, 834 + 2 + 16);
  const Pixel colour = picture.at(9, 9 + 800);
  EXPECT_EQ(picture.at(9 + 800, 9), kWhite);
  // On the diagonal 6 of 9 pairs attend.
  for (int channel = 0; channel < 3; ++channel) {
    EXPECT_EQ(picture.at(9 + 10, 9 + 10)[channel],
              (6 * colour[channel] + 3 * 255) / 9);
  }
}

TEST(MaskPictureTest, LinesShowBlocks) {
  const BatchLayout layout = MakeLayout(SpecOf(12), {{12}});
  BlockShape blocks;
  blocks.q = 4;
  blocks.kv = 6;
  const Picture plain = Painted(layout, FormatOptions());
  const Picture cut = Painted(layout, FormatOptions(), blocks);
  for (int64_t y = 0; y < cut.height; ++y) {
    for (int64_t x = 0; x < cut.width; ++x) {
      const bool in = x >= 9 && y >= 9 && x < 9 + 384 && y < 9 + 384;
      const bool line =
          in && ((y - 9) / 32 % 4 == 0 && (y - 9) % 32 == 0 && y > 9
                     ? true
                     : (x - 9) / 32 % 6 == 0 && (x - 9) % 32 == 0 && x > 9);
      EXPECT_EQ(cut.at(x, y), line ? (Pixel{120, 120, 120}) : plain.at(x, y));
    }
  }
}

TEST(MaskPictureTest, RefusesMoreRowsThanItShows) {
  const std::vector<std::vector<uint32_t>> rows(kMaxPictureRows + 1,
                                                std::vector<uint32_t>{1});
  EXPECT_THAT(MaskPng(MakeLayout(SpecOf(2), rows), FormatOptions(), {}),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("64"), HasSubstr("65"))));
}

// ----------------------------------------------------------------- printing --

MasksQuery QueryOf(const std::string& rows, int64_t capacity) {
  MasksQuery query;
  query.rows = rows;
  query.layout.row_tokens = capacity;
  return query;
}

json JsonOf(MasksQuery query) {
  query.json = true;
  std::ostringstream out;
  EXPECT_THAT(PrintMasks(query, out), IsOk());
  return json::parse(out.str());
}

// Lists of lists of this shape.
void ExpectShape(const json& values, const std::vector<int64_t>& shape,
                 size_t d = 0) {
  if (d == shape.size()) {
    EXPECT_FALSE(values.is_array());
    return;
  }
  ASSERT_EQ(values.size(), shape[d]);
  for (const json& value : values) ExpectShape(value, shape, d + 1);
}

TEST(PrintMasksTest, JsonHasEveryFormatInItsShape) {
  MasksQuery query = QueryOf("5,3;;12", 12);
  query.options.blocks = {4, 4};
  for (int i = 0; i < kFormats; ++i) {
    const Format format = static_cast<Format>(i);
    if (format == Format::kCpIndices || format == Format::kCpInverse) continue;
    query.formats.push_back(format);
  }
  const json report = JsonOf(query);
  EXPECT_EQ(report["rows"], 3);
  EXPECT_EQ(report["sequences"], 3);
  EXPECT_EQ(report["max_segment"], 12);
  EXPECT_EQ(report["mask"], "causal");
  EXPECT_TRUE(report["window"].is_null());
  ASSERT_EQ(report["formats"].size(), query.formats.size());
  const BatchLayout layout = MakeLayout(SpecOf(12), {{5, 3}, {}, {12}});
  for (const Format format : query.formats) {
    const std::string name(FormatName(format));
    SCOPED_TRACE(name);
    const absl::StatusOr<FormatShape> shape =
        ShapeOf(format, layout, query.options);
    ASSERT_THAT(shape, IsOk());
    const json& array = report["formats"][name];
    EXPECT_EQ(array["dtype"], std::string(DTypeName(shape->dtypes.front())));
    EXPECT_EQ(array["shape"], json(shape->shape));
    ExpectShape(array["values"], shape->shape);
  }
  EXPECT_EQ(report["formats"]["cu_seqlens"]["values"],
            json({0, 5, 8, 12, 24, 36}));
}

// What JSON has no number for is a string; all else is a number that the type
// has.
TEST(PrintMasksTest, AdditiveMasks) {
  struct Case {
    DType dtype;
    double lowest;
  };
  for (const Case& c : {Case{DType::kFloat32, -3.4028234663852886e38},
                        Case{DType::kBFloat16, -3.3895313892515355e38},
                        Case{DType::kFloat16, -65504}}) {
    MasksQuery query = QueryOf("2", 2);
    query.formats = {Format::kDenseMask};
    query.dtype = c.dtype;
    const json infinite = JsonOf(query)["formats"]["dense_mask"]["values"];
    EXPECT_EQ(infinite.dump(), "[[[[0,\"-inf\"],[0,0]]]]");
    query.options.dense.minus_infinity = false;
    const json finite = JsonOf(query)["formats"]["dense_mask"]["values"];
    EXPECT_EQ(static_cast<float>(finite[0][0][0][1].get<double>()),
              static_cast<float>(c.lowest));
  }
}

TEST(PrintMasksTest, TextLinesStandInColumns) {
  MasksQuery query = QueryOf("5,3;12", 12);
  query.formats = {Format::kLabels, Format::kCuSeqlens};
  std::ostringstream out;
  ASSERT_THAT(PrintMasks(query, out), IsOk());
  EXPECT_THAT(
      out.str(),
      AllOf(HasSubstr("\nlabels  int64 [2, 12]\n"
                      "  [0] -100    1    2    3    4 -100    6    7 -100 -100 "
                      "-100 -100\n"
                      "  [1] -100    9   10   11   12   13   14   15   16   17 "
                      "  18   19\n"),
            HasSubstr("\ncu_seqlens  int32 [5]\n"
                      "    0  5  8 12 24\n")));
  for (const absl::string_view line : absl::StrSplit(out.str(), '\n')) {
    EXPECT_LE(line.size(), 80) << line;
  }
}

TEST(PrintMasksTest, OffsetsReachTheLastOf32Bits) {
  MasksQuery query = QueryOf("1073741824,1073741823", kMaxBatchTokens);
  query.formats = {Format::kCuSeqlens};
  EXPECT_EQ(JsonOf(query)["formats"]["cu_seqlens"]["values"],
            json({0, 1073741824, 2147483647}));
}

TEST(PrintMasksTest, RefusesAndPrintsNothing) {
  struct Case {
    MasksQuery query;
    std::vector<std::string> words;
  };
  std::vector<Case> cases;
  const auto add = [&](const std::vector<std::string>& words) -> MasksQuery& {
    cases.push_back({QueryOf("5,3;12", 12), words});
    return cases.back().query;
  };
  add({"row 0", "14", "--capacity is 12"}).rows = "5,9";
  add({"length 0"}).rows = "5,0";
  add({"--rows", "-1"}).rows = "5,-1";
  add({"--rows", "\"\""}).rows = "5,";
  add({"--rows", "4294967296"}).rows = "4294967296";
  add({"--mask causal", "--window"}).window_given = true;
  add({"--mask causal_window", "--window"}).options.mask.kind =
      MaskKind::kCausalWindow;
  add({"--tokens", "3", "20"}).tokens = "1,2,3";
  add({"--labels", "\"x\""}).labels = "x";
  add({"rows of 1048577", "1048576"}).layout.row_tokens = (1 << 20) + 1;
  add({"no/such"}).picture_path = "/no/such/folder/mask.png";
  MasksQuery& dtype = add({"position_ids", "bool", "int64 or int32"});
  dtype.formats = {Format::kPositionIds};
  dtype.dtype = DType::kBool;
  MasksQuery& large = add({"dense_mask", "elements", "16777216"});
  large.layout.row_tokens = 5000;
  large.formats = {Format::kDenseMask};
  MasksQuery& tokens = add({"2147483647 tokens", "16777216"});
  tokens.rows = "2147483647";
  tokens.layout.row_tokens = kMaxBatchTokens;
  tokens.formats = {Format::kTargets};
  MasksQuery& zero = add({"--window is 0", "at least 1"});
  zero.options.mask = {MaskKind::kCausalWindow, 0};
  zero.window_given = true;
  MasksQuery& shared = add({"--picture", "--json", "standard output"});
  shared.picture_path = "-";
  shared.json = true;
  for (const Case& c : cases) {
    SCOPED_TRACE(absl::StrJoin(c.words, " "));
    std::ostringstream out;
    const absl::Status status = PrintMasks(c.query, out);
    EXPECT_THAT(status, StatusIs(StatusCode::kInvalidArgument, testing::_));
    for (const std::string& word : c.words) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(word));
    }
    EXPECT_EQ(out.str(), "");
  }
}

TEST(ParseBlockShapeTest, OneSideOrTwo) {
  const auto sides = [](absl::string_view text) {
    const absl::optional<BlockShape> shape = ParseBlockShape(text);
    if (!shape.has_value()) return std::vector<int32_t>{};
    return std::vector<int32_t>{shape->q, shape->kv};
  };
  EXPECT_THAT(sides("128"), ElementsAre(128, 128));
  EXPECT_THAT(sides("64x128"), ElementsAre(64, 128));
  for (const char* text :
       {"", "0", "x", "4x", "x4", "4x0", "-4", "4x4x4", "2147483648", "1.5"}) {
    EXPECT_THAT(sides(text), ElementsAre()) << text;
  }
}

}  // namespace
}  // namespace packhouse
