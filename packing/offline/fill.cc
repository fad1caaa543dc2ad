#include "packing/offline/fill.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "packing/bitmap_tree.h"

namespace packhouse {
namespace {

// Units of distinct lengths, by index, that are not in a pack yet.
class UnitsLeft {
 public:
  explicit UnitsLeft(absl::Span<const FootprintCount> counts)
      : counts_(counts.begin(), counts.end()), lengths_(counts.size()) {
    for (const FootprintCount& c : counts) {
      units_ += static_cast<double>(c.count);
      volume_ += static_cast<double>(c.count) * c.footprint;
    }
  }

  // True when all are packed. Otherwise longest() is the index of the longest.
  bool empty() {
    while (lengths_ > 0 && counts_[lengths_ - 1].count == 0) --lengths_;
    return lengths_ == 0;
  }
  size_t longest() const { return lengths_ - 1; }

  uint32_t footprint(size_t i) const { return counts_[i].footprint; }
  uint64_t count(size_t i) const { return counts_[i].count; }
  double units() const { return units_; }
  double mean() const { return volume_ / units_; }

  // How many lengths are at most `footprint`.
  size_t UpTo(uint32_t footprint) const {
    return static_cast<size_t>(
        std::partition_point(
            counts_.begin(), counts_.begin() + lengths_,
            [&](const FootprintCount& c) { return c.footprint <= footprint; }) -
        counts_.begin());
  }

  // Takes the units of `times` such packs, or of as many as there are; `pack`
  // has descending indices, equal ones side by side.
  FootprintGroup Take(absl::Span<const size_t> pack, uint64_t times) {
    FootprintGroup group = {{}, times};
    for (size_t i : pack) {
      if (group.footprints.empty() ||
          group.footprints.back().footprint != footprint(i)) {
        group.footprints.push_back({footprint(i), 0});
      }
      const uint64_t copies = ++group.footprints.back().count;
      group.count = std::min(group.count, count(i) / copies);
    }
    for (size_t i : pack) {
      counts_[i].count -= group.count;
      units_ -= static_cast<double>(group.count);
      volume_ -= static_cast<double>(group.count) * footprint(i);
    }
    return group;
  }

 private:
  std::vector<FootprintCount> counts_;
  size_t lengths_;  // no longer ones are left
  double units_ = 0;
  double volume_ = 0;
};

// The units that are left beside those of the pack which is being made, by
// index of their length.
class Available {
 public:
  explicit Available(absl::Span<const FootprintCount> counts)
      : counts_(counts.size()) {
    if (counts.empty()) return;
    from_longest_.Reset(static_cast<uint32_t>(counts.size()));
    for (size_t i = 0; i < counts.size(); ++i) Set(i, counts[i].count);
  }

  void Set(size_t i, uint64_t count) {
    if (counts_[i] == 0 && count > 0) from_longest_.Insert(Place(i));
    if (counts_[i] > 0 && count == 0) from_longest_.Erase(Place(i));
    counts_[i] = count;
  }

  void Take(size_t i) { Set(i, counts_[i] - 1); }

  // The largest index below `end` with a unit, plus 1; 0 where there is none.
  size_t Before(size_t end) const {
    if (end == 0) return 0;
    const uint32_t place = from_longest_.Next(Place(end - 1));
    return place == BitmapTree::kNone ? 0 : counts_.size() - place;
  }

 private:
  // The tree searches upwards only.
  uint32_t Place(size_t i) const {
    return static_cast<uint32_t>(counts_.size() - 1 - i);
  }

  std::vector<uint64_t> counts_;
  BitmapTree from_longest_;
};

// Which sums up to `room` can be made of units: a row of bits for each step,
// each with some copies of a length more than the one before.
class SubsetSum {
 public:
  // Appends to `pack` the units of the fullest subset, by descending index. At
  // most left.count(i) - (i == anchor) of each length.
  void Fill(const UnitsLeft& left, size_t anchor, uint32_t room,
            std::vector<size_t>* pack) {
    room_ = room;
    words_ = room / 64 + 1;
    rows_.assign(words_, 0);
    rows_[0] = 1;
    steps_.clear();
    for (size_t i = left.UpTo(room); i-- > 0 && !Has(room);) {
      uint64_t copies = std::min<uint64_t>(left.count(i) - (i == anchor),
                                           room / left.footprint(i));
      for (uint64_t part = 1; copies > 0 && !Has(room); part *= 2) {
        const uint64_t taken = std::min(part, copies);
        copies -= taken;
        if (rows_.size() >= kMaxWords) return Trace(left, pack);
        Step(i, static_cast<uint32_t>(taken), left.footprint(i));
      }
    }
    Trace(left, pack);
  }

 private:
  // 32 MB of rows. Only hopeless rooms of very long packs need more: those
  // where hundreds of lengths do not add up to the room.
  static constexpr size_t kMaxWords = size_t{1} << 22;

  struct Copies {
    size_t index;
    uint32_t count;
  };

  const uint64_t* Row(size_t step) const { return &rows_[step * words_]; }
  static bool Bit(const uint64_t* row, uint32_t sum) {
    return (row[sum / 64] >> (sum % 64) & 1) != 0;
  }
  bool Has(uint32_t sum) const { return Bit(Row(steps_.size()), sum); }

  void Step(size_t index, uint32_t count, uint32_t footprint) {
    const size_t shift = size_t{footprint} * count;
    const size_t words = shift / 64;
    const size_t bits = shift % 64;
    rows_.resize(rows_.size() + words_);
    const uint64_t* const from = Row(steps_.size());
    uint64_t* const to = &rows_[(steps_.size() + 1) * words_];
    std::copy(from, from + words_, to);
    for (size_t i = words; i < words_; ++i) {
      uint64_t moved = from[i - words] << bits;
      if (bits > 0 && i > words) moved |= from[i - words - 1] >> (64 - bits);
      to[i] |= moved;
    }
    steps_.push_back({index, count});
  }

  void Trace(const UnitsLeft& left, std::vector<size_t>* pack) const {
    uint32_t sum = room_;
    while (!Has(sum)) --sum;
    const size_t begin = pack->size();
    for (size_t step = steps_.size(); step-- > 0;) {
      if (Bit(Row(step), sum)) continue;
      const Copies& copies = steps_[step];
      sum -= copies.count * left.footprint(copies.index);
      pack->insert(pack->end(), copies.count, copies.index);
    }
    std::reverse(pack->begin() + static_cast<std::ptrdiff_t>(begin),
                 pack->end());
  }

  uint32_t room_ = 0;
  size_t words_ = 0;
  std::vector<uint64_t> rows_;
  std::vector<Copies> steps_;
};

}  // namespace

FootprintGroups PackBySubsetSum(absl::Span<const FootprintCount> counts,
                                uint32_t capacity,
                                const std::function<bool()>& out_of_time) {
  FootprintGroups groups;
  UnitsLeft left(counts);
  SubsetSum subset_sum;
  std::vector<size_t> pack;
  while (!left.empty()) {
    if (out_of_time()) return {};
    const size_t anchor = left.longest();
    pack.assign(1, anchor);
    subset_sum.Fill(left, anchor, capacity - left.footprint(anchor), &pack);
    groups.push_back(left.Take(pack, left.count(anchor)));
  }
  return groups;
}

FootprintGroups PackEvenly(absl::Span<const FootprintCount> counts,
                           uint32_t capacity, uint32_t max_units) {
  FootprintGroups groups;
  UnitsLeft left(counts);
  Available available(counts);
  std::vector<size_t> pack;
  while (!left.empty()) {
    pack.assign(1, left.longest());
    available.Take(left.longest());
    uint32_t room = capacity - left.footprint(left.longest());
    for (uint64_t places = max_units - 1; places > 0; --places) {
      const double others = static_cast<double>(places - 1) * left.mean();
      const uint32_t even = room / static_cast<uint32_t>(places);
      const uint32_t limit =
          others < room ? std::max(even, room - static_cast<uint32_t>(others))
                        : even;
      size_t end = available.Before(left.UpTo(limit));
      if (end == 0) end = available.Before(left.UpTo(room));
      if (end == 0) break;
      pack.push_back(end - 1);
      available.Take(end - 1);
      room -= left.footprint(end - 1);
    }
    std::sort(pack.rbegin(), pack.rend());
    // Not all at once, for the mean to stay that of what is left.
    const double some = left.units() / (64 * static_cast<double>(pack.size()));
    groups.push_back(left.Take(pack, 1 + static_cast<uint64_t>(some)));
    for (const size_t i : pack) available.Set(i, left.count(i));
  }
  return groups;
}

}  // namespace packhouse
