// The rule `best`: the fewest packs that can be found for a list of counts in
// some time, and a proof of how few there can be.
//
// It tries the quick rules first, the least costly before the others, and stops
// as soon as a plan has no more packs than the lower bound. What is left goes
// to linear programming (packing/lp), which mostly proves a better bound and
// meets it.

#ifndef PACKHOUSE_PACKING_OFFLINE_BEST_H_
#define PACKHOUSE_PACKING_OFFLINE_BEST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "packing/footprint_group.h"
#include "packing/lower_bound.h"
#include "packing/lp/column_generation.h"

namespace packhouse {

struct BestPlan {
  FootprintGroups groups;
  uint64_t lower_bound_packs = 0;
  std::string found_by;       // the member or rule
  bool is_cut_short = false;  // by time, in any part of the search
};

// A plan of another rule, made when it is asked for.
struct Candidate {
  std::string name;
  std::function<FootprintGroups()> plan;
};

// `counts` has ascending footprints from 1 to the capacity, none 0 times. Never
// more packs than any of the candidates, which are asked for unless a plan is
// known to be optimal. `use_lp` requires LpAvailable().
BestPlan PackBest(absl::Span<const FootprintCount> counts, uint32_t capacity,
                  uint32_t max_units, absl::Span<const Candidate> candidates,
                  bool use_lp, const SpentTime& spent);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_OFFLINE_BEST_H_
