#include "session/unit_ledger.h"

#include <algorithm>
#include <limits>
#include <utility>

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

uint64_t UnitLedger::first_incomplete() const {
  return std::min(sequences_, complete_.first_missing());
}

void UnitLedger::Save(StateWriter* writer) const {
  writer->Number(sequences_);
  writer->Number(units_);
  complete_.Save(sequences_, writer);
  writer->Number(parts_.size());
  for (const auto& [ordinal, parts] : parts_) {
    writer->Number(ordinal);
    writer->Number(parts.length);
    for (const bool received : parts.received) writer->Number(received);
  }
}

void UnitLedger::Restore(StateReader* reader) {
  sequences_ = reader->Count();
  units_ = reader->Count();
  // A word takes a byte at least.
  complete_.Restore(sequences_, reader->left(), reader);
  const uint64_t size = reader->NumberUpTo(reader->left());
  for (uint64_t i = 0; i < size && reader->ok(); ++i) {
    const uint64_t ordinal = reader->Number();
    Parts parts;
    parts.length = static_cast<uint32_t>(
        reader->NumberUpTo(std::numeric_limits<uint32_t>::max()));
    if (ordinal >= sequences_ || complete_.Contains(ordinal) ||
        parts.length > LongestAccepted(spec_)) {
      reader->Fail();
      return;
    }
    const uint32_t units = UnitCount(spec_, parts.length);
    parts.missing = 0;
    for (uint32_t unit = 0; unit < units && reader->ok(); ++unit) {
      parts.received.push_back(reader->NumberUpTo(1) == 1);
      parts.missing += parts.received.back() ? 0 : 1;
    }
    if (parts.missing == 0) reader->Fail();
    parts_[ordinal] = std::move(parts);
  }
}

}  // namespace packhouse
