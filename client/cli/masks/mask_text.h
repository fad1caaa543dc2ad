// How a batch and its formats are printed: lines for people, one JSON object
// for programs.

#ifndef PACKHOUSE_CLIENT_CLI_MASKS_MASK_TEXT_H_
#define PACKHOUSE_CLIENT_CLI_MASKS_MASK_TEXT_H_

#include <ostream>
#include <vector>

#include "client/cli/masks/mask_array.h"
#include "client/cli/masks/masks.h"
#include "packhouse/batch_layout.h"

namespace packhouse {

// The numbers of the batch, and each array: its last dimension in lines of 80
// columns, behind the place of its first element in the others.
void PrintText(const BatchLayout& layout, const std::vector<MaskArray>& arrays,
               std::ostream& out);

// One line, ended. docs/command-line.md says what the keys mean.
void PrintJson(const MasksQuery& query, const BatchLayout& layout,
               const std::vector<MaskArray>& arrays, std::ostream& out);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_MASKS_MASK_TEXT_H_
