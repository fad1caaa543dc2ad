// A mask in characters, for a terminal of 80 columns.

#ifndef PACKHOUSE_CLIENT_CLI_MASKS_MASK_DRAWING_H_
#define PACKHOUSE_CLIENT_CLI_MASKS_MASK_DRAWING_H_

#include <ostream>

#include "packhouse/batch_layout.h"
#include "packhouse/fill.h"

namespace packhouse {

// Rows of a batch that are drawn; behind them it says how many are not.
inline constexpr int64_t kMaxDrawnRows = 8;

// Draws the dense mask of each row, a line of characters for each query. Long
// rows are scaled down, as a line above them says. Requires a mask that formats
// of `layout` may have.
void DrawMask(const BatchLayout& layout, const FormatOptions& options,
              std::ostream& out);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_MASKS_MASK_DRAWING_H_
