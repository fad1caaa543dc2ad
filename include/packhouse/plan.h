// Packing a whole list in one call, by any rule.
//
//   PackSpec spec;
//   spec.capacity_tokens = 512;
//   spec.algorithm = "best";
//   PlanNotes notes;
//   absl::StatusOr<Packs> packs = Plan({200, 512, 312}, spec, &notes);
//   // notes.lower_bound_packs: no packing has fewer
//
// The rules for streams (IsOnline) give the packs that a Packer gives. The
// others look at the whole list at once, whatever the window.

#ifndef PACKHOUSE_PLAN_H_
#define PACKHOUSE_PLAN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"

namespace packhouse {

// What `best` has to say of its plan; the defaults for any other rule.
struct PlanNotes {
  // No packing needs fewer packs: proven, and often better than
  // LowerBoundPacks. The plan is optimal where it has no more.
  uint64_t lower_bound_packs = 0;

  // The member or rule whose plan it is.
  std::string found_by;

  // Whether this build has a solver of linear programs. Without one `best` has
  // its other members only.
  bool lp_available = false;

  // Whether the budget ended any part of the search. Then another machine, or
  // another run, may give other packs; and fewer, given more time, unless these
  // are as few as the bound.
  bool is_cut_short = false;
};

// The packs of `lengths`, whose ordinals count from 0, by spec.algorithm. Reads
// a clock for `best` only, which searches for spec.budget_seconds. Errors as
// ValidateSpec and CheckLengths say. `notes` may be null.
absl::StatusOr<Packs> Plan(absl::Span<const uint32_t> lengths,
                           const PackSpec& spec, PlanNotes* notes = nullptr);

}  // namespace packhouse

#endif  // PACKHOUSE_PLAN_H_
