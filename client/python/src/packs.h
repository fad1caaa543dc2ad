// Packs as the columns that Python has for them.

#ifndef PACKHOUSE_CLIENT_PYTHON_SRC_PACKS_H_
#define PACKHOUSE_CLIENT_PYTHON_SRC_PACKS_H_

#include <nanobind/nanobind.h>

#include <utility>

#include "packhouse/packs.h"
#include "src/arrays.h"

namespace packhouse {

// (ordinals, offsets, source_offsets or None), without a copy.
inline nanobind::tuple ToPython(Packs packs) {
  nanobind::object source_offsets = nanobind::none();
  if (!packs.source_offsets.empty()) {
    source_offsets = nanobind::cast(ArrayOf(std::move(packs.source_offsets)));
  }
  return nanobind::make_tuple(ArrayOf(std::move(packs.ordinals)),
                              ArrayOf(std::move(packs.offsets)),
                              source_offsets);
}

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_PYTHON_SRC_PACKS_H_
