// The proof of a plan, written from the definitions and apart from the packers.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "packhouse/plan_check.h"

namespace packhouse {
namespace {

// Gathers violations; names the first few and counts the rest.
class Violations {
 public:
  template <typename... Parts>
  void Add(const Parts&... parts) {
    if (++count_ <= kNamed) named_.push_back(absl::StrCat(parts...));
  }

  absl::Status ToStatus() const {
    if (count_ == 0) return absl::OkStatus();
    std::string text = absl::StrJoin(named_, "; ");
    if (count_ > kNamed) {
      absl::StrAppend(&text, "; and ", count_ - kNamed, " more");
    }
    return absl::FailedPreconditionError(text);
  }

 private:
  static constexpr uint64_t kNamed = 5;
  uint64_t count_ = 0;
  std::vector<std::string> named_;
};

// What the policies of a spec make of one sequence, said again here so that an
// error in the packers' own account of it shows.
class ExpectedUnits {
 public:
  ExpectedUnits(const PackSpec& spec, uint32_t length)
      : length_(length),
        longest_(static_cast<uint32_t>(spec.capacity_tokens /
                                       spec.sequence_alignment *
                                       spec.sequence_alignment)) {
    const bool overlong = length > longest_;
    if (length == 0 || (overlong && spec.overlong == Overlong::kDrop)) {
      count_ = 0;
    } else if (overlong && spec.overlong == Overlong::kSplit) {
      count_ = (uint64_t{length} + longest_ - 1) / longest_;
    } else if (overlong && spec.overlong == Overlong::kTruncateHead) {
      first_ = length - longest_;
    }
  }

  uint64_t count() const { return count_; }

  // Which unit begins there; count() where none does.
  uint64_t IndexAt(uint64_t source_offset) const {
    if (source_offset < first_) return count_;
    const uint64_t behind = source_offset - first_;
    if (behind % longest_ != 0) return count_;
    return std::min(count_, behind / longest_);
  }

  uint64_t OffsetOf(uint64_t index) const { return first_ + index * longest_; }

  uint64_t TokensAt(uint64_t source_offset) const {
    return std::min<uint64_t>(length_ - source_offset, longest_);
  }

 private:
  uint64_t length_;
  uint64_t longest_;
  uint64_t count_ = 1;
  uint64_t first_ = 0;  // where the first unit begins
};

// Judges packs one after another, then what is missing.
class Verifier {
 public:
  Verifier(absl::Span<const uint32_t> lengths, const PackSpec& spec,
           const Packs& packs)
      : lengths_(lengths), spec_(spec), packs_(packs) {
    uint64_t units = 0;
    first_unit_.reserve(lengths.size() + 1);
    for (const uint32_t length : lengths) {
      first_unit_.push_back(units);
      units += ExpectedUnits(spec, length).count();
    }
    first_unit_.push_back(units);
    placed_.resize(units);
  }

  absl::Status Run() {
    for (size_t i = 0; i < packs_.size(); ++i) {
      CheckLimits(i);
      for (uint64_t entry = packs_.offsets[i]; entry < packs_.offsets[i + 1];
           ++entry) {
        if (entry > packs_.offsets[i]) CheckOrder(i, entry);
        Place(i, entry);
      }
      CheckAge(i);
    }
    for (uint64_t ordinal = 0; ordinal < lengths_.size(); ++ordinal) {
      CheckPlaced(ordinal);
    }
    return violations_.ToStatus();
  }

 private:
  // How a unit is named in a violation.
  std::string Name(uint64_t ordinal, uint64_t source_offset) const {
    if (packs_.source_offsets.empty()) return absl::StrCat("ordinal ", ordinal);
    return absl::StrCat("ordinal ", ordinal, " from token ", source_offset);
  }
  std::string NameOf(uint64_t entry) const {
    return Name(packs_.ordinals[entry], packs_.source_offset(entry));
  }

  bool Known(uint64_t entry) const {
    return packs_.ordinals[entry] < lengths_.size();
  }

  ExpectedUnits Expected(uint64_t ordinal) const {
    return ExpectedUnits(spec_, lengths_[ordinal]);
  }

  void CheckLimits(size_t i) {
    const uint64_t begin = packs_.offsets[i];
    const uint64_t end = packs_.offsets[i + 1];
    const uint64_t limit = static_cast<uint64_t>(spec_.max_sequences_per_pack);
    if (begin == end) violations_.Add("pack ", i, " is empty");
    if (limit != 0 && end - begin > limit) {
      violations_.Add("pack ", i, " has ", end - begin,
                      " sequences, the limit is ", limit);
    }
    uint64_t footprint = 0;
    for (uint64_t entry = begin; entry < end; ++entry) {
      const uint64_t offset = packs_.source_offset(entry);
      // What begins beyond its sequence is found when it is placed.
      if (!Known(entry) || offset >= lengths_[packs_.ordinals[entry]]) continue;
      footprint +=
          Footprint(spec_, Expected(packs_.ordinals[entry]).TokensAt(offset));
    }
    if (footprint > static_cast<uint64_t>(spec_.capacity_tokens)) {
      violations_.Add("pack ", i, " has a footprint of ", footprint,
                      " tokens, the capacity is ", spec_.capacity_tokens);
    }
  }

  void CheckOrder(size_t i, uint64_t entry) {
    const auto place = [&](uint64_t e) {
      return std::make_pair(packs_.ordinals[e], packs_.source_offset(e));
    };
    if (place(entry - 1) < place(entry)) return;
    violations_.Add("pack ", i, " has ", NameOf(entry), " behind ",
                    packs_.source_offsets.empty()
                        ? absl::StrCat(packs_.ordinals[entry - 1])
                        : NameOf(entry - 1),
                    ", they must ascend");
  }

  void Place(size_t i, uint64_t entry) {
    if (!Known(entry)) {
      violations_.Add("pack ", i, " has ordinal ", packs_.ordinals[entry],
                      ", but there are ", lengths_.size(), " sequences");
      return;
    }
    const uint64_t ordinal = packs_.ordinals[entry];
    const ExpectedUnits expected = Expected(ordinal);
    const uint64_t index = expected.IndexAt(packs_.source_offset(entry));
    if (expected.count() == 0) {
      violations_.Add("pack ", i, " has ordinal ", ordinal,
                      ", which must be dropped: its length is ",
                      lengths_[ordinal]);
    } else if (index == expected.count()) {
      violations_.Add("pack ", i, " has ordinal ", ordinal, " from token ",
                      packs_.source_offset(entry),
                      ", where none of its pieces begins");
    } else if (placed_[first_unit_[ordinal] + index]) {
      violations_.Add("pack ", i, " has ", NameOf(entry),
                      ", which was placed before");
    } else {
      placed_[first_unit_[ordinal] + index] = true;
      ++units_placed_;
    }
  }

  // The age bound of `sliding`: when a pack is released, the oldest unit that
  // still waits has let at most so many later ones pass. (Units of its own
  // sequence are let off: they are not later ones.)
  void CheckAge(size_t i) {
    if (spec_.algorithm != "sliding") return;
    const uint64_t bound = static_cast<uint64_t>(
        spec_.max_displacement != 0 ? spec_.max_displacement
                                    : 4 * spec_.window_sequences);
    const uint64_t oldest = oldest_waiting_;
    while (oldest_waiting_ < placed_.size() && placed_[oldest_waiting_]) {
      ++oldest_waiting_;
    }
    // Those of this pack left with it, and have let only earlier packs pass.
    const uint64_t before = units_placed_before_;
    units_placed_before_ = units_placed_;
    if (before <= oldest || before - oldest <= bound) return;
    const uint64_t ordinal =
        std::upper_bound(first_unit_.begin(), first_unit_.end(), oldest) -
        first_unit_.begin() - 1;
    if (before - oldest <= bound + Expected(ordinal).count() - 1) return;
    violations_.Add("pack ", i, " comes when ordinal ", ordinal, " has let ",
                    before - oldest, " later ones pass, the limit is ", bound);
  }

  void CheckPlaced(uint64_t ordinal) {
    const uint64_t first = first_unit_[ordinal];
    const uint64_t count = first_unit_[ordinal + 1] - first;
    for (uint64_t index = 0; index < count; ++index) {
      if (placed_[first + index]) continue;
      violations_.Add(count == 1
                          ? absl::StrCat("ordinal ", ordinal)
                          : absl::StrCat("ordinal ", ordinal, " from token ",
                                         Expected(ordinal).OffsetOf(index)),
                      " is in no pack");
    }
  }

  const absl::Span<const uint32_t> lengths_;
  const PackSpec& spec_;
  const Packs& packs_;
  std::vector<uint64_t> first_unit_;  // by ordinal, in order of arrival
  std::vector<bool> placed_;          // by unit
  uint64_t oldest_waiting_ = 0;
  uint64_t units_placed_ = 0;
  uint64_t units_placed_before_ = 0;  // in earlier packs
  Violations violations_;
};

}  // namespace

absl::Status Verify(absl::Span<const uint32_t> lengths, const PackSpec& spec,
                    const Packs& packs) {
  if (absl::Status status = ValidateSpec(spec); !status.ok()) return status;
  if (absl::Status status = CheckLengths(spec, lengths, 0); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckColumns(packs); !status.ok()) {
    return absl::FailedPreconditionError(status.message());
  }
  return Verifier(lengths, spec, packs).Run();
}

}  // namespace packhouse
