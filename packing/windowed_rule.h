// What all windowed rules have in common: units gather until the window is full
// (or flushed); then all of them are packed at once. Where the spec has a seed,
// the packs of each window are shuffled (shuffle.h).

#ifndef PACKHOUSE_PACKING_WINDOWED_RULE_H_
#define PACKHOUSE_PACKING_WINDOWED_RULE_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/types/optional.h"
#include "packing/rule.h"
#include "packing/shuffle.h"
#include "packing/units.h"

namespace packhouse {

// `WindowPacker` is made from a `const Units&` and has
//
//   void Pack(absl::Span<const uint32_t> footprints, uint64_t first,
//             Packs* packs);
//
// which appends the packs of one window, whose first unit has the number
// `first`, in the order of their openers. What it keeps from one call to the
// next must not show.
template <typename WindowPacker>
class WindowedRule final : public Rule {
 public:
  explicit WindowedRule(const PackSpec& spec)
      : window_(static_cast<size_t>(spec.window_sequences)),
        capacity_(Units(spec).capacity),
        seed_(spec.seed),
        packer_(Units(spec)) {}

  void Add(absl::Span<const uint32_t> footprints, Packs* packs) override {
    while (!footprints.empty()) {
      const size_t n = std::min(footprints.size(), window_ - pending_.size());
      if (n == window_) {  // a whole window at once: no need to copy it
        PackWindow(footprints.subspan(0, n), packs);
      } else {
        pending_.insert(pending_.end(), footprints.begin(),
                        footprints.begin() + n);
        if (pending_.size() == window_) Flush(packs);
      }
      footprints.remove_prefix(n);
    }
  }

  void Flush(Packs* packs) override {
    if (pending_.empty()) return;
    PackWindow(pending_, packs);
    pending_.clear();
  }

  uint64_t pending() const override { return pending_.size(); }
  uint64_t oldest_pending() const override { return packed_; }

  std::vector<uint64_t> PendingNumbers() const override {
    std::vector<uint64_t> numbers(pending_.size());
    std::iota(numbers.begin(), numbers.end(), packed_);
    return numbers;
  }

  void Save(StateWriter* writer) const override {
    writer->Number(windows_);
    writer->Numbers(pending_);
  }

  void Restore(uint64_t taken, StateReader* reader) override {
    windows_ = reader->NumberUpTo(taken);
    pending_ =
        reader->Numbers(std::min<uint64_t>(taken, window_ - 1), 1, capacity_);
    packed_ = taken - pending_.size();
    // A window that closes has from one unit to all that it takes.
    const uint64_t fewest = packed_ / window_ + (packed_ % window_ > 0);
    if (windows_ < fewest || windows_ > packed_) reader->Fail();
  }

  uint64_t MaxStateBytes() const override {
    return MaxNumberBytes(kMaxStreamCount) +
           MaxNumbersBytes(window_ - 1, capacity_);
  }

 private:
  void PackWindow(absl::Span<const uint32_t> footprints, Packs* packs) {
    const size_t first_pack = packs->size();
    packer_.Pack(footprints, packed_, packs);
    if (seed_.has_value()) ShufflePacks(*seed_, windows_, first_pack, packs);
    packed_ += footprints.size();
    ++windows_;
  }

  const size_t window_;
  const uint32_t capacity_;
  const absl::optional<uint64_t> seed_;
  WindowPacker packer_;
  std::vector<uint32_t> pending_;
  uint64_t packed_ = 0;   // units in packs
  uint64_t windows_ = 0;  // closed
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_WINDOWED_RULE_H_
