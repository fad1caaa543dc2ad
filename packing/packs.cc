#include "packhouse/packs.h"

namespace packhouse {

void Packs::Append(const Packs& other) {
  const uint64_t base = ordinals.size();
  ordinals.insert(ordinals.end(), other.ordinals.begin(), other.ordinals.end());
  for (size_t i = 1; i < other.offsets.size(); ++i) {
    offsets.push_back(base + other.offsets[i]);
  }
}

void Packs::Clear() {
  offsets.resize(1);
  ordinals.clear();
}

}  // namespace packhouse
