#include "packing/offline/reference.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace packhouse {
namespace {

// Equal packs, still open.
struct OpenGroup {
  FootprintGroup group;
  uint64_t units = 0;  // in each pack
};

// The groups of packs by the room that they have left.
class Rooms {
 public:
  explicit Rooms(uint32_t max_units) : max_units_(max_units) {}

  bool empty() const { return open_.empty(); }
  uint32_t most_room() const { return open_.rbegin()->first; }

  // The least room that takes the footprint, or 0.
  uint32_t LeastRoom(uint32_t footprint) const {
    const auto it = open_.lower_bound(footprint);
    return it == open_.end() ? 0 : it->first;
  }

  // Takes the group out that was filed last of those with this room.
  OpenGroup Take(uint32_t room) {
    const auto it = open_.find(room);
    OpenGroup taken = std::move(it->second.back());
    it->second.pop_back();
    if (it->second.empty()) open_.erase(it);
    return taken;
  }

  // Files packs with this room, or closes them where they are full.
  void File(uint32_t room, OpenGroup group) {
    if (room == 0 || group.units == max_units_) {
      closed_.push_back(std::move(group.group));
    } else {
      open_[room].push_back(std::move(group));
    }
  }

  // Adds so many units to each of `packs` packs of the group, which was taken
  // from those with this room, and files what it is now and what it was.
  void Add(OpenGroup group, uint32_t room, uint32_t footprint, uint64_t copies,
           uint64_t packs) {
    if (packs < group.group.count) {
      OpenGroup rest = group;
      rest.group.count -= packs;
      File(room, std::move(rest));
    }
    group.group.count = packs;
    group.group.footprints.push_back({footprint, copies});
    if (group.group.footprints.size() > 1) MergeLast(&group.group);
    group.units += copies;
    File(room - static_cast<uint32_t>(copies * footprint), std::move(group));
  }

  FootprintGroups Finish() && {
    FootprintGroups groups = std::move(closed_);
    for (auto& [room, filed] : open_) {
      for (OpenGroup& group : filed) groups.push_back(std::move(group.group));
    }
    return groups;
  }

 private:
  static void MergeLast(FootprintGroup* group) {
    const FootprintCount last = group->footprints.back();
    FootprintCount& before = *std::prev(group->footprints.end(), 2);
    if (before.footprint != last.footprint) return;
    before.count += last.count;
    group->footprints.pop_back();
  }

  const uint64_t max_units_;
  std::map<uint32_t, std::vector<OpenGroup>> open_;
  FootprintGroups closed_;
};

}  // namespace

FootprintGroups PackSpfhpReference(absl::Span<const FootprintCount> counts,
                                   uint32_t capacity, uint32_t max_units) {
  Rooms rooms(max_units);
  for (size_t i = counts.size(); i-- > 0;) {
    const uint32_t footprint = counts[i].footprint;
    uint64_t left = counts[i].count;
    while (left > 0 && !rooms.empty() && rooms.most_room() >= footprint) {
      const uint32_t room = rooms.most_room();
      OpenGroup group = rooms.Take(room);
      const uint64_t packs = std::min(group.group.count, left);
      left -= packs;
      rooms.Add(std::move(group), room, footprint, 1, packs);
    }
    if (left > 0) {
      rooms.Add({{{}, left}, 0}, capacity, footprint, 1, left);
    }
  }
  return std::move(rooms).Finish();
}

FootprintGroups PackLpfhpReference(absl::Span<const FootprintCount> counts,
                                   uint32_t capacity, uint32_t max_units) {
  Rooms rooms(max_units);
  for (size_t i = counts.size(); i-- > 0;) {
    const uint32_t footprint = counts[i].footprint;
    uint64_t left = counts[i].count;
    while (left > 0) {
      const uint32_t room = rooms.LeastRoom(footprint);
      if (room == 0) break;
      OpenGroup group = rooms.Take(room);
      const uint64_t copies =
          std::min<uint64_t>({room / footprint, max_units - group.units, left});
      const uint64_t packs = std::min(group.group.count, left / copies);
      left -= packs * copies;
      rooms.Add(std::move(group), room, footprint, copies, packs);
    }
    while (left > 0) {
      const uint64_t copies =
          std::min<uint64_t>({capacity / footprint, max_units, left});
      const uint64_t packs = left / copies;
      left -= packs * copies;
      rooms.Add({{{}, packs}, 0}, capacity, footprint, copies, packs);
    }
  }
  return std::move(rooms).Finish();
}

}  // namespace packhouse
