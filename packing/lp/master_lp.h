// The linear program of cutting stock: the fewest packs, fractions allowed, of
// given patterns that hold all units.
//
// A slot of a pack may hold a shorter unit than the pattern says: a column for
// each pair of neighbouring lengths turns a slot for the longer into one for
// the shorter. They keep the prices monotone in the length, which steadies them
// from one round of column generation to the next (the dual cuts of Valerio de
// Carvalho, "Using extra dual cuts to accelerate column generation", 2005).
//
// The solver is COIN-OR CLP. A build without it has Available() == false and
// then nothing else of this may be used.

#ifndef PACKHOUSE_PACKING_LP_MASTER_LP_H_
#define PACKHOUSE_PACKING_LP_MASTER_LP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "packing/lp/pricing.h"

namespace packhouse {

class MasterLp {
 public:
  static bool Available();

  // `demand`: units of each length, by ascending length.
  explicit MasterLp(absl::Span<const uint64_t> demand);
  ~MasterLp();

  void SetDemand(absl::Span<const uint64_t> demand);
  void AddPatterns(absl::Span<const Pattern> patterns);

  // False where time ran out or the solver failed; then the rest is not
  // defined. The patterns must be able to hold every unit.
  bool Solve(const std::function<bool()>& out_of_time);

  double packs() const;

  // Prices of the lengths: what one more unit of each would cost, in packs.
  std::vector<double> Prices() const;

  // How often each pattern is used, in the order in which they were added.
  std::vector<double> Uses() const;

 private:
  struct Solver;
  std::unique_ptr<Solver> solver_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_LP_MASTER_LP_H_
