// Packing by linear programming: the fewest packs, fractions allowed, of all
// patterns there are (Gilmore and Gomory, "A linear programming approach to the
// cutting-stock problem", 1961). It proves a lower bound that is nearly always
// tight, and whole packs can be made that come close to it.
//
// The patterns are far too many to list. The master program (master_lp.h)
// knows some, gives each length a price, and asks for packs that are worth more
// than they cost (pricing.h); when there are none it is solved. Thousands of
// distinct lengths are too many to begin with, so it goes from coarse to fine:
// neighbouring lengths are first seen as one class, all as long as the longest
// of them, and what is learnt there is where the next finer level starts.

#ifndef PACKHOUSE_PACKING_LP_COLUMN_GENERATION_H_
#define PACKHOUSE_PACKING_LP_COLUMN_GENERATION_H_

#include <cstdint>
#include <functional>

#include "absl/types/span.h"
#include "packing/footprint_group.h"
#include "packing/lower_bound.h"

namespace packhouse {

// The share of the time that is spent: from 0, never falling; at 1 it is up.
// It is asked every few milliseconds.
using SpentTime = std::function<double()>;

// Packs units in some other way, in little time.
using PackUnits =
    std::function<FootprintGroups(absl::Span<const FootprintCount>)>;

struct LpPlan {
  // The packs, or none where no plan was reached.
  FootprintGroups groups;

  // No packing needs fewer. Proven whatever the rounding errors of the solver:
  // prices are rounded to integers, and the best pack at these is found exactly
  // (Farley, "A note on bounding a class of linear programming problems",
  // 1990). 0 where nothing was proven.
  uint64_t lower_bound_packs = 0;

  // Whether time ended any part of the search: if not, the plan does not depend
  // on the clock.
  bool is_cut_short = false;
};

// Whether this build has a solver.
bool LpAvailable();

// A plan for `counts` (ascending footprints from 1 to the capacity, none 0
// times). Half of the time goes into the program, what is left into whole
// packs: patterns that it uses once or more are taken, then the most used ones,
// and what remains is solved again; `pack_rest` may do better with the rest.
// Stops at a plan of `enough` packs, which must be a lower bound. Requires a
// solver.
LpPlan PackByColumns(absl::Span<const FootprintCount> counts, uint32_t capacity,
                     uint32_t max_units, uint64_t enough,
                     const PackUnits& pack_rest, const SpentTime& spent);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_LP_COLUMN_GENERATION_H_
