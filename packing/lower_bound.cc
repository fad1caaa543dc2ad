#include "packing/lower_bound.h"

#include <algorithm>

namespace packhouse {
namespace {

__extension__ typedef __int128 Wide;  // sums of 2^64 units of 2^31 tokens

uint64_t CeilDiv(Wide numerator, uint64_t denominator) {
  if (numerator <= 0) return 0;
  return static_cast<uint64_t>((numerator + denominator - 1) / denominator);
}

// Martello and Toth's L2. Choose a small size alpha and forget all units below
// it. Units of more than half a pack need a pack each. Those of more than
// capacity - alpha share it with nothing that is left; the others ("large")
// leave some room, and what the "small" ones, alpha to half a pack, have beyond
// that room needs further packs. The bound is the best over all alpha; it
// contains the volume bound (an alpha that forgets nothing).
uint64_t L2(absl::Span<const FootprintCount> counts, uint32_t capacity) {
  const size_t halves =
      std::partition_point(counts.begin(), counts.end(),
                           [&](const FootprintCount& c) {
                             return c.footprint <= capacity / 2;
                           }) -
      counts.begin();
  uint64_t above_half = 0;
  for (const FootprintCount& c : counts.subspan(halves)) above_half += c.count;

  Wide small = 0;       // tokens of the small units
  Wide large_room = 0;  // what the large units leave
  uint64_t further = 0;
  size_t large_end = halves;
  const auto try_alpha = [&](uint32_t alpha) {
    for (; large_end < counts.size() &&
           counts[large_end].footprint <= capacity - alpha;
         ++large_end) {
      const FootprintCount& c = counts[large_end];
      large_room += Wide{c.count} * (capacity - c.footprint);
    }
    further = std::max(further, CeilDiv(small - large_room, capacity));
  };
  for (size_t i = halves; i-- > 0;) {
    small += Wide{counts[i].count} * counts[i].footprint;
    try_alpha(counts[i].footprint);
  }
  try_alpha(0);
  return above_half + further;
}

// One of Burdet and Johnson's dual-feasible functions (see Clautiaux, Alves and
// Valerio de Carvalho, "A survey of dual-feasible and superadditive functions",
// 2010). Cut the capacity into pieces of lambda, which leaves a rest. A unit
// gets a price for each whole piece in it, and for what it has beyond the rest
// in its last one; no pack can hold more than the price of its whole pieces.
// So all prices together need this many packs. Lambda is 2 to capacity.
uint64_t BurdetJohnson(absl::Span<const FootprintCount> counts,
                       uint32_t capacity, uint32_t lambda) {
  const uint32_t rest = capacity % lambda;
  const uint64_t piece = lambda - rest;
  Wide price = 0;
  for (const FootprintCount& c : counts) {
    const uint64_t whole = c.footprint / lambda;
    const uint32_t last = c.footprint % lambda;
    price += Wide{c.count} * (whole * piece + (last > rest ? last - rest : 0));
  }
  return CeilDiv(price, capacity / lambda * piece);
}

// The best over as many lambdas as cost some milliseconds: all there are, or
// else spread evenly over capacity / lambda from 1 to 4. Beyond 4 pieces the
// functions are close to plain volume.
uint64_t BestBurdetJohnson(absl::Span<const FootprintCount> counts,
                           uint32_t capacity) {
  constexpr uint64_t kMaxPrices = 1 << 22;
  const uint64_t lambdas =
      std::clamp<uint64_t>(kMaxPrices / (counts.size() + 1), 64, 4096);
  uint64_t best = 0;
  if (lambdas >= capacity) {
    for (uint32_t lambda = 2; lambda <= capacity; ++lambda) {
      best = std::max(best, BurdetJohnson(counts, capacity, lambda));
    }
  } else {
    for (uint64_t i = 0; i < lambdas; ++i) {
      const uint64_t lambda = capacity * lambdas / (lambdas + 3 * i);
      best = std::max(
          best, BurdetJohnson(counts, capacity, static_cast<uint32_t>(lambda)));
    }
  }
  return best;
}

}  // namespace

uint64_t LowerBound(absl::Span<const FootprintCount> counts, uint32_t capacity,
                    uint64_t max_units) {
  Wide units = 0;
  for (const FootprintCount& c : counts) units += c.count;
  return std::max({L2(counts, capacity), BestBurdetJohnson(counts, capacity),
                   CeilDiv(units, max_units)});
}

}  // namespace packhouse
