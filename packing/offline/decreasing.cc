#include "packing/offline/decreasing.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace packhouse {
namespace {

// Places all sequences of one length after the other, as the windowed rules
// place them one by one. Packs are numbered in the order of opening; a group is
// a run of consecutive numbers with equal content, so that "of equal packs the
// one opened first" is the group with the lowest number.
class GroupPacker {
 public:
  GroupPacker(const Units& units, Prefer prefer)
      : units_(units), prefer_(prefer) {}

  void Place(uint32_t length, uint64_t left) {
    const uint32_t footprint = units_.Footprint(length);
    while (left > 0) {
      auto it = Find(footprint);
      if (it == open_.end()) {
        OpenNew(length, left);
        return;
      }
      const auto [room, first] = it->first;
      Packs packs = std::move(it->second);
      open_.erase(it);
      // spfhp adds one to each pack before any pack gets another; lpfhp fills
      // the tightest pack before it turns to the next.
      const uint64_t copies =
          prefer_ == Prefer::kMostRoom
              ? 1
              : std::min({room / footprint,
                          units_.max_sequences - packs.sequences, left});
      const uint64_t taken = std::min(packs.group.count, left / copies);
      if (taken < packs.group.count) {
        Packs rest = packs;
        rest.group.count -= taken;
        File(room, first + taken, std::move(rest));
      }
      left -= taken * copies;
      packs.group.count = taken;
      packs.Add(length, copies);
      File(room - copies * footprint, first, std::move(packs));
    }
  }

  std::vector<HistogramPlan::Group> Finish() && {
    for (auto& [key, packs] : open_) {
      closed_.emplace(key.second, std::move(packs));
    }
    std::vector<HistogramPlan::Group> groups;
    groups.reserve(closed_.size());
    for (auto& [first, packs] : closed_) {
      groups.push_back(std::move(packs.group));
    }
    return groups;
  }

 private:
  // Equal packs with consecutive numbers.
  struct Packs {
    HistogramPlan::Group group;
    uint64_t sequences = 0;  // in each

    void Add(uint32_t length, uint64_t copies) {
      sequences += copies;
      std::vector<LengthCount>& lengths = group.lengths;
      if (lengths.empty() || lengths.back().length != length) {
        lengths.push_back({length, 0});
      }
      lengths.back().count += copies;
    }
  };

  // (room, number of the first pack) -> packs with that room.
  using OpenPacks = std::map<std::pair<uint64_t, uint64_t>, Packs>;

  OpenPacks::iterator Find(uint64_t footprint) {
    if (prefer_ == Prefer::kLeastRoom) return open_.lower_bound({footprint, 0});
    if (open_.empty()) return open_.end();
    const uint64_t room = std::prev(open_.end())->first.first;
    return room < footprint ? open_.end() : open_.lower_bound({room, 0});
  }

  // New packs take as many copies as they can, the last one what is left.
  void OpenNew(uint32_t length, uint64_t left) {
    const uint64_t copies = std::min(units_.capacity / units_.Footprint(length),
                                     units_.max_sequences);
    OpenEqual(length, copies, left / copies);
    if (left % copies != 0) OpenEqual(length, left % copies, 1);
  }

  void OpenEqual(uint32_t length, uint64_t copies, uint64_t count) {
    if (count == 0) return;
    Packs packs;
    packs.group.count = count;
    packs.Add(length, copies);
    File(units_.capacity - copies * units_.Footprint(length), packs_,
         std::move(packs));
    packs_ += count;
  }

  void File(uint64_t room, uint64_t first, Packs packs) {
    if (packs.sequences == units_.max_sequences) {
      closed_.emplace(first, std::move(packs));
    } else {
      open_.emplace(std::pair{room, first}, std::move(packs));
    }
  }

  const Units units_;
  const Prefer prefer_;
  OpenPacks open_;
  std::map<uint64_t, Packs> closed_;  // by number of the first pack
  uint64_t packs_ = 0;
};

}  // namespace

std::vector<HistogramPlan::Group> PackDecreasing(
    absl::Span<const LengthCount> lengths, const Units& units, Prefer prefer) {
  GroupPacker packer(units, prefer);
  for (auto it = lengths.rbegin(); it != lengths.rend(); ++it) {
    packer.Place(it->length, it->count);
  }
  return std::move(packer).Finish();
}

FootprintGroups PackDecreasing(absl::Span<const FootprintCount> counts,
                               uint32_t capacity, uint32_t max_units,
                               Prefer prefer) {
  PackSpec spec;
  spec.capacity_tokens = capacity;
  Units units(spec);
  units.max_sequences = max_units;
  std::vector<LengthCount> lengths;
  for (const FootprintCount& c : counts) {
    lengths.push_back({c.footprint, c.count});
  }
  FootprintGroups groups;
  for (const HistogramPlan::Group& group :
       PackDecreasing(lengths, units, prefer)) {
    groups.push_back({{}, group.count});
    for (const LengthCount& c : group.lengths) {
      groups.back().footprints.push_back({c.length, c.count});
    }
  }
  return groups;
}

}  // namespace packhouse
