// Non-negative least squares: the x >= 0 that makes |A x - b| smallest, by the
// active set method of Lawson and Hanson ("Solving Least Squares Problems",
// 1974, chapter 23), for an A of many columns with few entries each.

#ifndef PACKHOUSE_PACKING_OFFLINE_NNLS_H_
#define PACKHOUSE_PACKING_OFFLINE_NNLS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace packhouse {

// One entry of a column.
struct MatrixEntry {
  size_t row;
  double value;
};

using SparseColumn = std::vector<MatrixEntry>;

// x, by column. `b` has a value for each row.
std::vector<double> NonNegativeLeastSquares(
    absl::Span<const SparseColumn> columns, absl::Span<const double> b);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_OFFLINE_NNLS_H_
