#include "tests/packing/naive_packer.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace packhouse {
namespace {

struct NaivePack {
  int64_t room;
  std::vector<uint64_t> units;  // in order of placing: the opener first
};

int64_t RoundUp(int64_t tokens, const PackSpec& spec) {
  const int64_t rest = tokens % spec.sequence_alignment;
  return tokens + (rest == 0 ? 0 : spec.sequence_alignment - rest);
}

// One window: the units from `begin` to `end - 1`.
void PackWindow(const std::vector<NaiveUnit>& units, const PackSpec& spec,
                size_t begin, size_t end, Packs* packs) {
  const auto footprint = [&](uint64_t unit) {
    return RoundUp(units[unit].tokens, spec);
  };
  std::vector<uint64_t> order(end - begin);
  std::iota(order.begin(), order.end(), begin);
  std::stable_sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
    return footprint(a) > footprint(b);
  });
  std::vector<NaivePack> open;  // in order of opening
  for (uint64_t unit : order) {
    const int64_t f = footprint(unit);
    NaivePack* choice = nullptr;
    for (NaivePack& pack : open) {
      const bool full =
          spec.max_sequences_per_pack != 0 &&
          int64_t(pack.units.size()) == spec.max_sequences_per_pack;
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
    choice->units.push_back(unit);
  }
  std::map<uint64_t, std::vector<uint64_t>> by_opener;
  for (NaivePack& pack : open) {
    const uint64_t opener = pack.units.front();
    std::sort(pack.units.begin(), pack.units.end());
    by_opener[opener] = pack.units;
  }
  for (const auto& [opener, pack] : by_opener) {
    for (const uint64_t unit : pack) {
      packs->ordinals.push_back(units[unit].ordinal);
      packs->source_offsets.push_back(
          static_cast<uint32_t>(units[unit].source_offset));
    }
    packs->offsets.push_back(packs->ordinals.size());
  }
}

}  // namespace

std::vector<NaiveUnit> NaiveUnits(const Lengths& lengths,
                                  const PackSpec& spec) {
  std::vector<NaiveUnit> units;
  for (uint64_t ordinal = 0; ordinal < lengths.size(); ++ordinal) {
    const int64_t length = lengths[ordinal];
    if (length == 0) continue;
    if (RoundUp(length, spec) <= spec.capacity_tokens) {
      units.push_back({ordinal, 0, length});
      continue;
    }
    int64_t most = spec.capacity_tokens;  // that fits
    while (most % spec.sequence_alignment != 0) --most;
    switch (spec.overlong) {
      case Overlong::kError:
      case Overlong::kDrop:
        break;
      case Overlong::kTruncate:
        units.push_back({ordinal, 0, most});
        break;
      case Overlong::kTruncateHead:
        units.push_back({ordinal, length - most, most});
        break;
      case Overlong::kSplit:
        for (int64_t at = 0; at < length; at += most) {
          units.push_back({ordinal, at, std::min(most, length - at)});
        }
        break;
    }
  }
  return units;
}

Packs NaivePlan(const Lengths& lengths, const PackSpec& spec,
                const std::set<size_t>& flushes) {
  const std::vector<NaiveUnit> units = NaiveUnits(lengths, spec);
  Packs packs;
  size_t begin = 0;
  for (size_t end = 0; end <= units.size(); ++end) {
    const bool full = int64_t(end - begin) == spec.window_sequences;
    // A flush before an ordinal lies between the last unit of an earlier one
    // and the first of it or a later one.
    const bool flushed = end > begin && end < units.size() &&
                         flushes.upper_bound(units[end - 1].ordinal) !=
                             flushes.upper_bound(units[end].ordinal);
    if (end == units.size() || full || flushed) {
      if (end > begin) PackWindow(units, spec, begin, end, &packs);
      begin = end;
    }
  }
  return packs;
}

}  // namespace packhouse
