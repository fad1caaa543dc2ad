#include "client/cli/masks/mask_picture.h"

#include <png.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/masks/mask_cells.h"

namespace packhouse {
namespace {

struct Colour {
  uint8_t red;
  uint8_t green;
  uint8_t blue;
};

// Told apart also by most of those who see few colours; neighbours differ much.
constexpr Colour kSequenceColours[] = {
    {0, 114, 178},  {230, 159, 0}, {0, 158, 115},  {204, 121, 167},
    {86, 180, 233}, {213, 94, 0},  {152, 78, 163}, {240, 228, 66}};
constexpr Colour kPaddingColour = {150, 150, 150};
constexpr Colour kNothing = {255, 255, 255};
constexpr Colour kNothingOfPadding = {238, 238, 238};
constexpr Colour kFrameColour = {60, 60, 60};
constexpr Colour kBlockColour = {120, 120, 120};
constexpr Colour kPaper = {255, 255, 255};

// In pixels. Pictures of many rows have smaller squares, so that they still can
// be looked at.
constexpr int32_t kMaxSide = 1024;         // of the square of a row
constexpr int32_t kMaxSidesInLine = 4096;  // of all squares of a line together
constexpr int32_t kMaxPairSide = 32;
constexpr int32_t kGap = 8;  // around squares
constexpr int32_t kLeastBlockSide = 4;

class Image {
 public:
  Image(int32_t width, int32_t height)
      : width_(width),
        height_(height),
        pixels_(static_cast<size_t>(width) * height, kPaper) {}

  Colour& at(int32_t x, int32_t y) {
    return pixels_[static_cast<size_t>(y) * width_ + x];
  }

  void Rectangle(int32_t x, int32_t y, int32_t width, int32_t height,
                 Colour colour) {
    for (int32_t line = y; line < y + height; ++line) {
      std::fill_n(&at(x, line), width, colour);
    }
  }

  absl::StatusOr<std::string> Png() const {
    png_image image = {};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(width_);
    image.height = static_cast<png_uint_32>(height_);
    image.format = PNG_FORMAT_RGB;
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
    std::string file(bytes, '\0');
    if (png_image_write_to_memory(&image, file.data(), &bytes,
                                  /*convert_to_8_bit=*/0, pixels_.data(),
                                  /*row_stride=*/0, nullptr) == 0) {
      return absl::InternalError(
          absl::StrCat("libpng cannot write the picture: ", image.message));
    }
    file.resize(bytes);
    return file;
  }

 private:
  static_assert(sizeof(Colour) == 3, "pixels are three bytes, as libpng reads");

  int32_t width_;
  int32_t height_;
  std::vector<Colour> pixels_;
};

// How the mask of a row becomes a square: one of the two numbers is 1.
struct Scale {
  int32_t pixels_per_token;
  int32_t tokens_per_pixel;

  int32_t Pixels(int32_t tokens) const {
    return CeilDiv(tokens * pixels_per_token, tokens_per_pixel);
  }
};

Scale ScaleFor(int32_t tokens, int32_t across) {
  const int32_t side = std::min(kMaxSide, kMaxSidesInLine / across);
  if (tokens > side) return {1, CeilDiv(tokens, side)};
  return {std::min(kMaxPairSide, side / tokens), 1};
}

// The mean colour of the pairs of a cell.
Colour CellColour(const MaskCells& cells, Interval queries, Interval keys) {
  const int64_t pairs =
      int64_t{queries.end - queries.begin} * (keys.end - keys.begin);
  int64_t sums[3] = {};
  int64_t left = pairs;
  const auto add = [&](Colour colour, int64_t count) {
    sums[0] += count * colour.red;
    sums[1] += count * colour.green;
    sums[2] += count * colour.blue;
    left -= count;
  };
  cells.ForRuns(queries, keys, [&](const PairRun& run) {
    add(run.look == PairRun::Look::kAttends
            ? kSequenceColours[run.sequence % std::size(kSequenceColours)]
            : kPaddingColour,
        run.pairs);
  });
  const bool real = cells.is_real(queries.begin) && cells.is_real(keys.begin);
  add(real ? kNothing : kNothingOfPadding, left);
  return {static_cast<uint8_t>(sums[0] / pairs),
          static_cast<uint8_t>(sums[1] / pairs),
          static_cast<uint8_t>(sums[2] / pairs)};
}

// The square of one row, with its corner at (x, y).
void DrawRow(const MaskCells& cells, int32_t tokens, Scale scale, int32_t x,
             int32_t y, Image* image) {
  const int32_t step = scale.tokens_per_pixel;
  const int32_t side = scale.pixels_per_token;
  for (int32_t q = 0; q < tokens; q += step) {
    const Interval queries = {q, Least(tokens, q + step)};
    for (int32_t k = 0; k < tokens; k += step) {
      image->Rectangle(
          x + scale.Pixels(k), y + scale.Pixels(q), side, side,
          CellColour(cells, queries, {k, Least(tokens, k + step)}));
    }
  }
}

// Lines where blocks begin, over the first pixels of their first pairs.
void DrawBlocks(BlockShape blocks, int32_t tokens, Scale scale, int32_t x,
                int32_t y, Image* image) {
  const int32_t side = scale.Pixels(tokens);
  if (blocks.q < tokens && scale.Pixels(blocks.q) >= kLeastBlockSide) {
    for (int32_t q = blocks.q; q < tokens; q += blocks.q) {
      image->Rectangle(x, y + scale.Pixels(q), side, 1, kBlockColour);
    }
  }
  if (blocks.kv < tokens && scale.Pixels(blocks.kv) >= kLeastBlockSide) {
    for (int32_t k = blocks.kv; k < tokens; k += blocks.kv) {
      image->Rectangle(x + scale.Pixels(k), y, 1, side, kBlockColour);
    }
  }
}

}  // namespace

absl::StatusOr<std::string> MaskPng(const BatchLayout& layout,
                                    const FormatOptions& options,
                                    absl::optional<BlockShape> blocks) {
  if (layout.rows() > kMaxPictureRows) {
    return absl::InvalidArgumentError(
        absl::StrCat("a picture shows up to ", kMaxPictureRows,
                     " rows, the batch has ", layout.rows()));
  }
  const int32_t rows = static_cast<int32_t>(layout.rows());
  const int32_t tokens = static_cast<int32_t>(layout.row_tokens());
  int32_t across = 1;
  while (across * across < rows) ++across;
  const Scale scale = ScaleFor(tokens, across);
  const int32_t side = scale.Pixels(tokens) + 2;  // with the frame
  const int32_t down = CeilDiv(rows, across);
  Image image(across * (side + kGap) + kGap, down * (side + kGap) + kGap);
  for (int32_t row = 0; row < rows; ++row) {
    const int32_t x = kGap + row % across * (side + kGap);
    const int32_t y = kGap + row / across * (side + kGap);
    image.Rectangle(x, y, side, side, kFrameColour);
    DrawRow(MaskCells(layout, options, row), tokens, scale, x + 1, y + 1,
            &image);
    if (!blocks.has_value()) continue;
    DrawBlocks(*blocks, tokens, scale, x + 1, y + 1, &image);
  }
  return image.Png();
}

}  // namespace packhouse
