#include "packing/shuffle.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace packhouse {
namespace {

__extension__ typedef unsigned __int128 Wide;

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t state) : state_(state) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // One of 0 to limit - 1, each as likely.
  uint64_t Below(uint64_t limit) {
    Wide product = Wide{Next()} * limit;
    if (static_cast<uint64_t>(product) < limit) {
      const uint64_t biased = (uint64_t{0} - limit) % limit;
      while (static_cast<uint64_t>(product) < biased) {
        product = Wide{Next()} * limit;
      }
    }
    return static_cast<uint64_t>(product >> 64);
  }

 private:
  uint64_t state_;
};

}  // namespace

std::vector<size_t> ShuffledOrder(uint64_t seed, uint64_t window,
                                  size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  SplitMix64 random(SplitMix64(seed).Next() + window);
  for (size_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[random.Below(i)]);
  }
  return order;
}

void ShufflePacks(uint64_t seed, uint64_t window, size_t first, Packs* packs) {
  const std::vector<size_t> order =
      ShuffledOrder(seed, window, packs->size() - first);
  // Only these packs are copied: there may be many before them.
  const uint64_t begin = packs->offsets[first];
  const std::vector<uint64_t> ends(packs->offsets.begin() + first,
                                   packs->offsets.end());
  const std::vector<uint64_t> ordinals(packs->ordinals.begin() + begin,
                                       packs->ordinals.end());
  auto next = packs->ordinals.begin() + begin;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t pack = order[i];
    next = std::copy(ordinals.begin() + (ends[pack] - begin),
                     ordinals.begin() + (ends[pack + 1] - begin), next);
    packs->offsets[first + i + 1] = next - packs->ordinals.begin();
  }
}

}  // namespace packhouse
