#include "client/cli/masks/mask_drawing.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/masks/mask_cells.h"

namespace packhouse {
namespace {

constexpr int32_t kColumns = 80;
constexpr int kLetters = 26;

// How many pairs a character stands for.
struct Scale {
  int32_t queries = 1;
  int32_t keys = 1;
  // Behind each character a space: pairs look square then.
  bool spaced = true;
};

Scale ScaleFor(int32_t tokens) {
  // The number of the query stands before its line.
  const int32_t margin =
      static_cast<int32_t>(absl::StrCat(tokens - 1).size()) + 1;
  const int32_t columns = kColumns - margin;
  if (2 * tokens <= columns) return {};
  // A character is about twice as high as it is wide.
  const int32_t keys = CeilDiv(tokens, columns);
  return {2 * keys, keys, false};
}

// A capital letter where all pairs attend, a small one where only some do.
char CellCharacter(const MaskCells& cells, Interval queries, Interval keys) {
  int64_t real = 0;
  int64_t padding = 0;
  int32_t sequence = 0;  // that of the first query that attends
  cells.ForRuns(queries, keys, [&](const PairRun& run) {
    const bool attends = run.look == PairRun::Look::kAttends;
    if (attends && real == 0) sequence = run.sequence;
    (attends ? real : padding) += run.pairs;
  });
  const int64_t pairs =
      int64_t{queries.end - queries.begin} * (keys.end - keys.begin);
  const bool all = real + padding == pairs;
  if (real > 0) {
    return static_cast<char>((all ? 'A' : 'a') + sequence % kLetters);
  }
  if (padding > 0) return all ? '#' : '+';
  return '.';
}

std::string RowTitle(const BatchLayout& layout, int32_t row) {
  if (layout.rows() == 1) return "";
  return absl::StrCat("row ", row, "\n");
}

void DrawRow(const BatchLayout& layout, const FormatOptions& options,
             const Scale& scale, int32_t row, std::ostream& out) {
  const int32_t tokens = static_cast<int32_t>(layout.row_tokens());
  const int margin = static_cast<int>(absl::StrCat(tokens - 1).size());
  const MaskCells cells(layout, options, row);
  out << "\n" << RowTitle(layout, row);
  for (int32_t q = 0; q < tokens; q += scale.queries) {
    const Interval queries = {q, Least(tokens, q + scale.queries)};
    std::string line = absl::StrFormat("%*d", margin, q);
    if (!scale.spaced) line += ' ';
    for (int32_t k = 0; k < tokens; k += scale.keys) {
      if (scale.spaced) line += ' ';
      line += CellCharacter(cells, queries, {k, Least(tokens, k + scale.keys)});
    }
    out << line << "\n";
  }
}

}  // namespace

void DrawMask(const BatchLayout& layout, const FormatOptions& options,
              std::ostream& out) {
  const Scale scale = ScaleFor(static_cast<int32_t>(layout.row_tokens()));
  if (scale.keys == 1 && scale.queries == 1) {
    out << "\na line is a query, a column a key; A, B, ... attend within the\n"
           "sequences of a row, # is padding that attends, . does not attend\n";
  } else {
    out << absl::StrFormat(
        "\na line is %d queries, a column %d %s; A, B, ... all pairs attend "
        "within\nthe sequences of a row, a, b, ... some; # and + the same of "
        "padding; . none\n",
        scale.queries, scale.keys, scale.keys == 1 ? "key" : "keys");
  }
  const int64_t drawn = std::min(layout.rows(), kMaxDrawnRows);
  for (int32_t row = 0; row < drawn; ++row) {
    DrawRow(layout, options, scale, row, out);
  }
  if (drawn < layout.rows()) {
    out << "\nand " << layout.rows() - drawn << " rows more\n";
  }
}

}  // namespace packhouse
