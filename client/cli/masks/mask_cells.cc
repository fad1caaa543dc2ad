#include "client/cli/masks/mask_cells.h"

#include "kernels/jobs.h"

namespace packhouse {

MaskCells::MaskCells(const BatchLayout& layout, const FormatOptions& options,
                     int32_t row) {
  const SegmentTable table = layout.table();
  const int32_t row_begin = row * table.row_tokens;
  int32_t s = FirstOfRow(table, row);
  for (int32_t t = row_begin; t < row_begin + table.row_tokens; ++t) {
    if (t >= table.slot_end(s)) ++s;
    const Segment& segment = table.segments[s];
    Line line;
    line.keys = DenseKeys(table, options.mask, options.dense.empty_rows, s, t);
    line.is_real = t < segment.real_end;
    line.real_end = line.is_real ? segment.real_end - row_begin : 0;
    line.sequence = segment.sequences_before - segment.row_sequences;
    lines_.push_back(line);
  }
}

}  // namespace packhouse
