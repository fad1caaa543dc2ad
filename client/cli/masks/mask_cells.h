// A mask cut into cells of pairs, for drawing it at any scale.

#ifndef PACKHOUSE_CLIENT_CLI_MASKS_MASK_CELLS_H_
#define PACKHOUSE_CLIENT_CLI_MASKS_MASK_CELLS_H_

#include <cstdint>
#include <vector>

#include "packhouse/batch_layout.h"
#include "packhouse/fill.h"
#include "packhouse/segment_table.h"

namespace packhouse {

// Consecutive pairs of one query that have one look.
struct PairRun {
  enum class Look {
    kAttends,         // by tokens of sequence `sequence`
    kPaddingAttends,  // the query or the keys are padding
  };

  Look look;
  int32_t sequence;  // its number in its row
  int64_t pairs;
};

// The dense mask of one row of a batch.
class MaskCells {
 public:
  // Requires a mask that formats of `layout` may have, and row < layout.rows().
  MaskCells(const BatchLayout& layout, const FormatOptions& options,
            int32_t row);

  // Calls visit(const PairRun&) for the pairs that attend, of the queries and
  // keys that are given as places in the row. All others do not attend.
  template <typename Visit>
  void ForRuns(Interval queries, Interval keys, const Visit& visit) const {
    for (int32_t q = queries.begin; q < queries.end; ++q) {
      const Line& line = lines_[q];
      const int32_t begin = Most(line.keys.begin, keys.begin);
      const int32_t end = Least(line.keys.end, keys.end);
      const int32_t middle = Most(begin, Least(line.real_end, end));
      Visited(PairRun::Look::kAttends, line, middle - begin, visit);
      Visited(PairRun::Look::kPaddingAttends, line, end - middle, visit);
    }
  }

  // Whether token t of the row is one of a sequence.
  bool is_real(int32_t t) const { return lines_[t].is_real; }

 private:
  // What one query attends, in places of the row.
  struct Line {
    Interval keys;
    int32_t real_end;  // keys from here on are padding; all, if it is itself
    int32_t sequence;
    bool is_real;
  };

  template <typename Visit>
  static void Visited(PairRun::Look look, const Line& line, int32_t pairs,
                      const Visit& visit) {
    if (pairs > 0) visit(PairRun{look, line.sequence, pairs});
  }

  std::vector<Line> lines_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_MASKS_MASK_CELLS_H_
