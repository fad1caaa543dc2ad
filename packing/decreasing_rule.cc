#include "packing/decreasing_rule.h"

#include <cstdint>

#include "packing/decreasing_placer.h"
#include "packing/footprint_sort.h"
#include "packing/placement.h"
#include "packing/units.h"
#include "packing/windowed_rule.h"

namespace packhouse {
namespace {

// Packs one window at a time. Scratch memory is kept between windows, so that
// a unit costs no allocation.
template <Prefer kPrefer>
class DecreasingPacker {
 public:
  explicit DecreasingPacker(const Units& units) : placer_(units) {}

  void Pack(absl::Span<const uint32_t> footprints, uint64_t first,
            Packs* packs) {
    placer_.Place(sort_.Descending(footprints), &placement_);
    releaser_.Release(placement_, first, packs);
  }

 private:
  FootprintSort sort_;
  DecreasingPlacer<kPrefer> placer_;
  Placement placement_;
  Releaser releaser_;
};

}  // namespace

std::unique_ptr<Rule> NewDecreasingRule(const PackSpec& spec, Prefer prefer) {
  if (prefer == Prefer::kMostRoom) {
    return std::make_unique<WindowedRule<DecreasingPacker<Prefer::kMostRoom>>>(
        spec);
  }
  return std::make_unique<WindowedRule<DecreasingPacker<Prefer::kLeastRoom>>>(
      spec);
}

}  // namespace packhouse
