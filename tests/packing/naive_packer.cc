#include "tests/packing/naive_packer.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace packhouse {
namespace {

struct NaivePack {
  int64_t room;
  std::vector<uint64_t> ordinals;  // in order of placing: the opener first
};

// One window: the sequences from `begin` to `end - 1`.
void PackWindow(const Lengths& lengths, const PackSpec& spec, size_t begin,
                size_t end, Packs* packs) {
  const auto footprint = [&](uint64_t ordinal) {
    const int64_t rest = lengths[ordinal] % spec.sequence_alignment;
    return lengths[ordinal] + (rest == 0 ? 0 : spec.sequence_alignment - rest);
  };
  std::vector<uint64_t> order(end - begin);
  std::iota(order.begin(), order.end(), begin);
  std::stable_sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
    return footprint(a) > footprint(b);
  });
  std::vector<NaivePack> open;  // in order of opening
  for (uint64_t ordinal : order) {
    const int64_t f = footprint(ordinal);
    NaivePack* choice = nullptr;
    for (NaivePack& pack : open) {
      const bool full =
          spec.max_sequences_per_pack != 0 &&
          int64_t(pack.ordinals.size()) == spec.max_sequences_per_pack;
      if (full || pack.room < f) continue;
      if (choice == nullptr ||
          (spec.algorithm == "spfhp" ? pack.room > choice->room
                                     : pack.room < choice->room)) {
        choice = &pack;
      }
    }
    if (choice == nullptr) {
      open.push_back({spec.capacity_tokens, {}});
      choice = &open.back();
    }
    choice->room -= f;
    choice->ordinals.push_back(ordinal);
  }
  std::map<uint64_t, std::vector<uint64_t>> by_opener;
  for (NaivePack& pack : open) {
    const uint64_t opener = pack.ordinals.front();
    std::sort(pack.ordinals.begin(), pack.ordinals.end());
    by_opener[opener] = pack.ordinals;
  }
  for (const auto& [opener, ordinals] : by_opener) {
    packs->ordinals.insert(packs->ordinals.end(), ordinals.begin(),
                           ordinals.end());
    packs->offsets.push_back(packs->ordinals.size());
  }
}

}  // namespace

Packs NaivePlan(const Lengths& lengths, const PackSpec& spec,
                const std::set<size_t>& flushes) {
  Packs packs;
  size_t begin = 0;
  for (size_t end = 0; end <= lengths.size(); ++end) {
    const bool full = int64_t(end - begin) == spec.window_sequences;
    if (end == lengths.size() || full || flushes.count(end) > 0) {
      if (end > begin) PackWindow(lengths, spec, begin, end, &packs);
      begin = end;
    }
  }
  return packs;
}

}  // namespace packhouse
