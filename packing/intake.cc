#include "packing/intake.h"

#include <algorithm>
#include <array>

#include "packhouse/policy.h"
#include "packing/units.h"

namespace packhouse {
namespace {

// Footprints that are given to a rule at once: enough that a call is nothing.
using Footprints = std::array<uint32_t, 1024>;

}  // namespace

Intake::Intake(const PackSpec& spec)
    : spec_(spec), longest_(LongestPiece(spec)) {}

void Intake::Feed(absl::Span<const uint32_t> lengths, Rule* rule,
                  Packs* packs) {
  // What the policies refuse was found before, so these take nothing else.
  if (spec_.overlong == Overlong::kError && spec_.empty == Empty::kError) {
    FeedWhole(lengths, rule, packs);
    return;
  }
  while (!lengths.empty()) {
    // Subtracting 1 makes 0 the largest.
    const auto other =
        std::find_if(lengths.begin(), lengths.end(),
                     [&](uint32_t length) { return length - 1 >= longest_; });
    const size_t whole = other - lengths.begin();
    FeedWhole(lengths.subspan(0, whole), rule, packs);
    lengths.remove_prefix(whole);
    if (lengths.empty()) return;
    FeedOther(lengths.front(), rule, packs);
    lengths.remove_prefix(1);
  }
}

void Intake::FeedWhole(absl::Span<const uint32_t> lengths, Rule* rule,
                       Packs* packs) {
  if (lengths.empty()) return;
  BeginRun(/*source_offset=*/0, /*pieces=*/false);
  sequences_ += lengths.size();
  units_ += lengths.size();
  const Units units(spec_);
  if (units.alignment == 1) {
    rule->Add(lengths, packs);
    return;
  }
  Footprints footprints;
  while (!lengths.empty()) {
    const size_t n = std::min(lengths.size(), footprints.size());
    for (size_t i = 0; i < n; ++i) {
      footprints[i] = units.Footprint(lengths[i]);
    }
    rule->Add(absl::MakeConstSpan(footprints.data(), n), packs);
    lengths.remove_prefix(n);
  }
}

void Intake::FeedOther(uint32_t length, Rule* rule, Packs* packs) {
  uint32_t left = UnitCount(spec_, length);
  if (left == 0) {
    ++sequences_;
    return;
  }
  BeginRun(UnitOffset(spec_, length, 0),
           /*pieces=*/spec_.overlong == Overlong::kSplit);
  ++sequences_;
  units_ += left;
  // All of them are as long as a pack takes, but the last of several.
  const Units units(spec_);
  Footprints footprints;
  std::fill_n(footprints.begin(), std::min<size_t>(left, footprints.size()),
              units.capacity);
  while (left > 0) {
    const uint32_t n = std::min<uint32_t>(left, footprints.size());
    left -= n;
    if (left == 0) {
      const uint32_t offset =
          UnitOffset(spec_, length, UnitCount(spec_, length) - 1);
      footprints[n - 1] = units.Footprint(UnitTokens(spec_, length, offset));
    }
    rule->Add(absl::MakeConstSpan(footprints.data(), n), packs);
  }
}

void Intake::BeginRun(uint32_t source_offset, bool pieces) {
  if (!runs_.empty() && !pieces && source_offset == 0) {
    const Run& last = runs_.back();
    if (!last.pieces && last.source_offset == 0 &&
        sequences_ - last.ordinal == units_ - last.first) {
      return;
    }
  }
  runs_.push_back({units_, sequences_, source_offset, pieces});
}

std::deque<Intake::Run>::const_iterator Intake::Find(uint64_t number) const {
  return std::prev(std::upper_bound(
      runs_.begin(), runs_.end(), number,
      [](uint64_t n, const Run& run) { return n < run.first; }));
}

void Intake::Rename(size_t first, Packs* packs) const {
  const auto is_identity = [](const Run& run) {
    return run.first == run.ordinal && run.source_offset == 0 && !run.pieces;
  };
  if (!packs->source_offsets.empty()) {
    packs->source_offsets.resize(packs->ordinals.size());
  }
  if (runs_.size() <= 1 && (runs_.empty() || is_identity(runs_[0]))) return;
  auto run = runs_.begin();
  for (size_t i = first; i < packs->ordinals.size(); ++i) {
    const uint64_t number = packs->ordinals[i];
    // Most units are of the same run as the one before.
    const auto next = std::next(run);
    if (number < run->first || (next != runs_.end() && number >= next->first)) {
      run = Find(number);
    }
    const uint64_t place = number - run->first;
    packs->ordinals[i] = run->ordinal + (run->pieces ? 0 : place);
    const uint64_t offset =
        run->source_offset + (run->pieces ? place * longest_ : 0);
    if (offset == 0) continue;
    packs->source_offsets.resize(packs->ordinals.size());
    packs->source_offsets[i] = static_cast<uint32_t>(offset);
  }
}

void Intake::Forget(uint64_t number) {
  while (runs_.size() > 1 && runs_[1].first <= number) runs_.pop_front();
}

uint64_t Intake::OrdinalOf(uint64_t number) const {
  if (number >= units_) return sequences_;
  const auto run = Find(number);
  return run->ordinal + (run->pieces ? 0 : number - run->first);
}

bool Intake::Covers(const Rule& rule) const {
  const uint64_t oldest = rule.oldest_pending();
  return oldest <= units_ && rule.pending() <= units_ - oldest &&
         (oldest == units_ || runs_[0].first <= oldest);
}

void Intake::Save(StateWriter* writer) const {
  writer->Number(sequences_);
  writer->Number(units_);
  writer->Number(runs_.size());
  for (const Run& run : runs_) {
    writer->Number(run.first);
    writer->Number(run.ordinal);
    writer->Number(run.source_offset);
    writer->Number(run.pieces);
  }
}

void Intake::Restore(StateReader* reader) {
  sequences_ = reader->Number();
  units_ = reader->Number();
  runs_.clear();
  const uint64_t runs = reader->Number();
  if (units_ > 0 && runs == 0) reader->Fail();
  for (uint64_t i = 0; i < runs && reader->ok(); ++i) {
    Run run;
    run.first = reader->NumberUpTo(units_);
    run.ordinal = reader->NumberUpTo(sequences_);
    run.source_offset = static_cast<uint32_t>(reader->NumberUpTo(~uint32_t{0}));
    run.pieces = reader->NumberUpTo(1) == 1;
    if (run.first >= units_ || run.ordinal >= sequences_ ||
        (i > 0 && (run.first <= runs_.back().first ||
                   run.ordinal <= runs_.back().ordinal))) {
      reader->Fail();
    }
    runs_.push_back(run);
  }
}

}  // namespace packhouse
