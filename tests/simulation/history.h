// What happened to one stream, from its owner's side.

#ifndef PACKHOUSE_TESTS_SIMULATION_HISTORY_H_
#define PACKHOUSE_TESTS_SIMULATION_HISTORY_H_

#include <cstdint>
#include <vector>

#include "packhouse/packs.h"
#include "packhouse/spec.h"

namespace packhouse {

// One life of the owner: from its start, new or from a saved state, to its end
// or its death.
struct Life {
  uint64_t first_pack = 1;  // number of the first pack that it took
  Packs taken;
};

// The most that was seen at any moment, and what is allowed.
struct Peak {
  const char* what;
  uint64_t seen = 0;
  uint64_t allowed = 0;

  void See(uint64_t now, uint64_t allowed_now) {
    // The worst moment counts, not the largest value.
    if (now <= allowed_now && now <= seen) return;
    if (seen > allowed) return;
    seen = now;
    allowed = allowed_now;
  }
};

struct History {
  PackSpec spec;

  // What the source has, and what is asked of the stream: flushes at these
  // places, and the end. A life that goes on from a saved state gives the same
  // again.
  std::vector<uint32_t> lengths;
  std::vector<uint64_t> flushes;  // ordinals, ascending

  std::vector<Life> lives;
  std::vector<Peak> peaks;
  bool complete = false;  // the stream ended and its last pack was taken
};

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_SIMULATION_HISTORY_H_
