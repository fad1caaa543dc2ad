// The proof of a plan, written from the definitions and apart from the packers.

#include <algorithm>
#include <string>
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

// The columns fit together, so that packs can be looked at one by one.
absl::Status CheckColumns(const Packs& packs) {
  if (packs.offsets.empty() || packs.offsets.front() != 0 ||
      packs.offsets.back() != packs.ordinals.size() ||
      !std::is_sorted(packs.offsets.begin(), packs.offsets.end())) {
    return absl::FailedPreconditionError(
        absl::StrCat("offsets must ascend from 0 to the number of ordinals, ",
                     packs.ordinals.size()));
  }
  return absl::OkStatus();
}

void CheckLimits(absl::Span<const uint32_t> lengths, const PackSpec& spec,
                 const Packs& packs, size_t i, Violations* violations) {
  const absl::Span<const uint64_t> pack = packs[i];
  const uint64_t limit = static_cast<uint64_t>(spec.max_sequences_per_pack);
  if (pack.empty()) violations->Add("pack ", i, " is empty");
  if (limit != 0 && pack.size() > limit) {
    violations->Add("pack ", i, " has ", pack.size(),
                    " sequences, the limit is ", limit);
  }
  uint64_t footprint = 0;
  for (uint64_t ordinal : pack) {
    if (ordinal < lengths.size()) {
      footprint += Footprint(spec, lengths[ordinal]);
    }
  }
  if (footprint > static_cast<uint64_t>(spec.capacity_tokens)) {
    violations->Add("pack ", i, " has a footprint of ", footprint,
                    " tokens, the capacity is ", spec.capacity_tokens);
  }
}

}  // namespace

absl::Status Verify(absl::Span<const uint32_t> lengths, const PackSpec& spec,
                    const Packs& packs) {
  if (absl::Status status = ValidateSpec(spec); !status.ok()) return status;
  if (absl::Status status = CheckLengths(spec, lengths, 0); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckColumns(packs); !status.ok()) return status;

  Violations violations;
  std::vector<bool> placed(lengths.size());
  for (size_t i = 0; i < packs.size(); ++i) {
    CheckLimits(lengths, spec, packs, i, &violations);
    const absl::Span<const uint64_t> pack = packs[i];
    for (size_t j = 0; j < pack.size(); ++j) {
      const uint64_t ordinal = pack[j];
      if (j > 0 && pack[j - 1] >= ordinal) {
        violations.Add("pack ", i, " has ordinal ", ordinal, " behind ",
                       pack[j - 1], ", they must ascend");
      }
      if (ordinal >= lengths.size()) {
        violations.Add("pack ", i, " has ordinal ", ordinal, ", but there are ",
                       lengths.size(), " sequences");
      } else if (placed[ordinal]) {
        violations.Add("pack ", i, " has ordinal ", ordinal,
                       ", which was placed before");
      } else {
        placed[ordinal] = true;
      }
    }
  }
  for (size_t ordinal = 0; ordinal < placed.size(); ++ordinal) {
    if (!placed[ordinal]) violations.Add("ordinal ", ordinal, " is in no pack");
  }
  return violations.ToStatus();
}

}  // namespace packhouse
