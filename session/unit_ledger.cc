#include "session/unit_ledger.h"

#include "absl/strings/str_cat.h"
#include "packhouse/policy.h"

namespace packhouse {

void UnitLedger::Give(absl::Span<const uint32_t> lengths) {
  units_ += CountIntake(spec_, lengths).units;
  for (const Fate& fate : Fates(spec_, lengths, sequences_)) {
    if (fate.units == 0) {
      complete_.Insert(fate.ordinal);
    } else {
      parts_[fate.ordinal] = {fate.length, fate.units,
                              std::vector<bool>(fate.units)};
    }
  }
  sequences_ += lengths.size();
}

std::string UnitLedger::ReceivePart(uint64_t ordinal, uint32_t source_offset) {
  const auto it = parts_.find(ordinal);
  if (it == parts_.end()) {
    if (!complete_.Insert(ordinal)) return kNotDue;
    if (source_offset == 0) return "";
    return absl::StrCat("from token ", source_offset, ", where no unit begins");
  }
  Parts& parts = it->second;
  // Where it would be; a wrong offset is found by asking back.
  const uint32_t longest = LongestPiece(spec_);
  const uint32_t index =
      spec_.overlong == Overlong::kSplit ? source_offset / longest : 0;
  if (index >= parts.received.size() ||
      UnitOffset(spec_, parts.length, index) != source_offset) {
    return absl::StrCat("from token ", source_offset, ", where no unit begins");
  }
  if (parts.received[index]) return kNotDue;
  parts.received[index] = true;
  if (--parts.missing == 0) {
    parts_.erase(it);
    complete_.Insert(ordinal);
  }
  return "";
}

}  // namespace packhouse
