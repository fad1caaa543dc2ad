// The command `masks`: what training stacks are given for a batch, to look at.
//
// It needs no gRPC: a build without the service has it too, as PrintMasks.

#ifndef PACKHOUSE_CLIENT_CLI_MASKS_MASKS_H_
#define PACKHOUSE_CLIENT_CLI_MASKS_MASKS_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "packhouse/batch_layout.h"
#include "packhouse/fill.h"
#include "packhouse/format.h"
#include "packhouse/tensor.h"

namespace packhouse {

struct MasksQuery {
  // "5,3;12": the lengths of each row; a row without any is a filler.
  std::string rows;
  LayoutSpec layout;
  FormatOptions options;
  bool window_given = false;
  // Whether a picture shows how options.blocks cut the mask.
  bool blocks_given = false;
  std::vector<Format> formats;
  absl::optional<DType> dtype;  // of all formats; absent: the usual ones
  // "7,8,9", for all sequences one after the other; absent: 0, 1, 2, ... for
  // tokens, and the tokens for labels.
  absl::optional<std::string> tokens;
  absl::optional<std::string> labels;
  std::string picture_path;  // empty: none is drawn
  bool json = false;
};

// "128" or "128x64", queries first: the sides of a block. Absent where it is
// not that, or a side is 0 or beyond 32 bits.
absl::optional<BlockShape> ParseBlockShape(absl::string_view text);

// Writes what is asked for to `out`: one JSON object, or the formats as rows
// for people, or where there is neither the mask itself, drawn. Nothing else
// where the picture goes to standard output. INVALID_ARGUMENT, with nothing
// written, where the query is wrong.
absl::Status PrintMasks(const MasksQuery& query, std::ostream& out);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_MASKS_MASKS_H_
