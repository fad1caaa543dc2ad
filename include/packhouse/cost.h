// What a pack costs to compute, and steps whose packs cost about the same.
//
// Equal tokens are not equal work: attention inside a sequence grows with the
// square of its length, so that one sequence of 8192 costs more than eight of
// 1024. Where ranks wait for each other at the end of a step, the step lasts as
// long as its dearest pack. Balance puts packs of near-equal cost into one
// step.
//
//   const CostModel model = {/*per_token=*/24576, /*per_token_squared=*/1};
//   absl::StatusOr<std::vector<double>> costs =
//       PackCosts(lengths_of_units, packs, model);
//   absl::StatusOr<Steps> steps = Balance(*costs, /*ranks=*/64,
//                                         /*look_ahead=*/1024, /*seed=*/0);
//   for (size_t s = 0; s < steps->size(); ++s) {
//     for (size_t r = 0; r < (*steps)[s].size(); ++r) {
//       // In step s rank r takes packs[(*steps)[s][r]].
//     }
//   }
//
// Pure functions: the same results on every machine.

#ifndef PACKHOUSE_COST_H_
#define PACKHOUSE_COST_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "packhouse/packs.h"

namespace packhouse {

// Largest value of the fields below. It keeps all sums of costs finite.
inline constexpr double kMaxCostCoefficient = 1e100;

// A sequence (or piece) of which L tokens are packed costs
// per_token * L + per_token_squared * L^2. Only the ratio of the two matters
// for balance: 24576 to 1 fits a model of 7 billion parameters, 49152 to 1 one
// of 70 billion, 0 to 1 attention alone.
struct CostModel {
  double per_token = 0;          // 0 to kMaxCostCoefficient
  double per_token_squared = 0;  // 0 to kMaxCostCoefficient
};

// OK, or INVALID_ARGUMENT that names every violation at once.
absl::Status ValidateCostModel(const CostModel& model);

// The cost of each pack, which is the sum over its sequences. `lengths` has the
// packed tokens of each entry of packs.ordinals, in the same order. Tokens and
// squares are added as integers, so that the order does not matter and nothing
// wraps. INVALID_ARGUMENT as ValidateCostModel says, and where the numbers of
// lengths and ordinals differ.
absl::StatusOr<std::vector<double>> PackCosts(
    absl::Span<const uint32_t> lengths, const Packs& packs,
    const CostModel& model);

// The packs that the ranks take, step by step.
struct Steps {
  uint64_t ranks = 1;

  // Indices of packs, `ranks` for each step: in step s rank r takes
  // packs[s * ranks + r]. The last step may be shorter: the last ranks get
  // nothing (a filler).
  std::vector<uint64_t> packs;

  // Number of steps.
  size_t size() const {
    return packs.size() / ranks + (packs.size() % ranks == 0 ? 0 : 1);
  }

  // The packs of step s; s < size(). Valid until *this changes.
  absl::Span<const uint64_t> operator[](size_t s) const {
    return absl::MakeConstSpan(packs).subspan(s * ranks, ranks);
  }
};

// Puts a list of packs, all of whose costs are known and any of which may go to
// any rank, into steps of near-equal cost. Each pack is in one step.
//
// The list is cut into blocks of as many whole steps as `look_ahead` packs
// hold. A block's packs are taken by descending cost (of equal ones the earlier
// first) and cut into steps: the `ranks` dearest, the next, and so on; no other
// choice gives the block a lower sum over its steps of the dearest pack. Then
// cost is kept from following step or rank: the steps of a block are put into a
// pseudo-random order, which depends on the seed, the block's number and how
// many steps it has, and inside a step packs ascend. Only the step that is
// short, where the packs do not fill the last one, stays last; it has the
// cheapest of its block.
//
// Bounded: the place of pack i in Steps::packs differs from i by at most
// look_ahead - ranks. O(n log look_ahead).
//
// INVALID_ARGUMENT where ranks is 0, look_ahead is less than ranks, or a cost
// is negative or not finite.
absl::StatusOr<Steps> Balance(absl::Span<const double> costs, uint64_t ranks,
                              uint64_t look_ahead, uint64_t seed);

// How much longer the steps last than with ranks that never wait: the sum over
// the steps of the dearest pack, divided by the sum over the steps of the mean
// pack. 1 is perfect. Absent where nothing costs anything. Requires that
// steps.packs are indices of `costs`.
absl::optional<double> StepImbalance(absl::Span<const double> costs,
                                     const Steps& steps);

}  // namespace packhouse

#endif  // PACKHOUSE_COST_H_
