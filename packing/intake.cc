#include "packing/intake.h"

#include <algorithm>
#include <array>
#include <limits>

#include "packhouse/policy.h"
#include "packing/units.h"

namespace packhouse {
namespace {

// Footprints that are given to a rule at once: enough that a call is nothing.
using Footprints = std::array<uint32_t, 1024>;

}  // namespace

Intake::Intake(const PackSpec& spec)
    : spec_(spec),
      longest_(LongestPiece(spec)),
      least_units_(spec.empty == Empty::kError &&
                   spec.overlong != Overlong::kDrop),
      most_units_(spec.overlong == Overlong::kSplit
                      ? UnitCount(spec, LongestAccepted(spec))
                      : 1),
      cut_(spec.overlong == Overlong::kSplit ? longest_ : 1),
      max_cut_(spec.overlong == Overlong::kTruncateHead
                   ? std::numeric_limits<uint32_t>::max() - longest_
                   : most_units_ - 1) {}

void Intake::Feed(absl::Span<const uint32_t> lengths, TakeUnits take) {
  // What the policies refuse was found before, so these take nothing else.
  if (spec_.overlong == Overlong::kError && spec_.empty == Empty::kError) {
    FeedWhole(lengths, take);
    return;
  }
  while (!lengths.empty()) {
    // Subtracting 1 makes 0 the largest.
    const auto other =
        std::find_if(lengths.begin(), lengths.end(),
                     [&](uint32_t length) { return length - 1 >= longest_; });
    const size_t whole = other - lengths.begin();
    FeedWhole(lengths.subspan(0, whole), take);
    lengths.remove_prefix(whole);
    if (lengths.empty()) return;
    FeedOther(lengths.front(), take);
    lengths.remove_prefix(1);
  }
}

void Intake::FeedWhole(absl::Span<const uint32_t> lengths, TakeUnits take) {
  if (lengths.empty()) return;
  AddRun({units_, {sequences_, /*source_offset=*/0}, /*pieces=*/false});
  sequences_ += lengths.size();
  units_ += lengths.size();
  const Units units(spec_);
  if (units.alignment == 1) {
    take(lengths);
    return;
  }
  Footprints footprints;
  while (!lengths.empty()) {
    const size_t n = std::min(lengths.size(), footprints.size());
    for (size_t i = 0; i < n; ++i) {
      footprints[i] = units.Footprint(lengths[i]);
    }
    take(absl::MakeConstSpan(footprints.data(), n));
    lengths.remove_prefix(n);
  }
}

void Intake::FeedOther(uint32_t length, TakeUnits take) {
  uint32_t left = UnitCount(spec_, length);
  if (left == 0) {
    ++sequences_;
    return;
  }
  AddRun({units_,
          {sequences_, UnitOffset(spec_, length, 0)},
          /*pieces=*/spec_.overlong == Overlong::kSplit});
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
    take(absl::MakeConstSpan(footprints.data(), n));
  }
}

void Intake::AddRun(const Run& run) {
  if (!runs_.empty() && runs_.back().pieces == run.pieces) {
    const Place next = PlaceIn(runs_.back(), run.first);
    if (next.ordinal == run.place.ordinal &&
        next.source_offset == run.place.source_offset) {
      return;
    }
  }
  runs_.push_back(run);
}

std::deque<Intake::Run>::const_iterator Intake::Find(uint64_t number) const {
  return std::prev(std::upper_bound(
      runs_.begin(), runs_.end(), number,
      [](uint64_t n, const Run& run) { return n < run.first; }));
}

Intake::Place Intake::PlaceIn(const Run& run, uint64_t number) const {
  const uint64_t index = number - run.first;
  if (!run.pieces) return {run.place.ordinal + index, run.place.source_offset};
  return {run.place.ordinal,
          run.place.source_offset + static_cast<uint32_t>(index) * longest_};
}

void Intake::Rename(size_t first, Packs* packs) const {
  const auto is_identity = [](const Run& run) {
    return run.first == run.place.ordinal && run.place.source_offset == 0 &&
           !run.pieces;
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
    const Place place = PlaceIn(*run, number);
    packs->ordinals[i] = place.ordinal;
    if (place.source_offset == 0) continue;
    packs->source_offsets.resize(packs->ordinals.size());
    packs->source_offsets[i] = place.source_offset;
  }
}

void Intake::Forget(uint64_t number) {
  while (runs_.size() > 1 && runs_[1].first <= number) runs_.pop_front();
}

uint64_t Intake::OrdinalOf(uint64_t number) const {
  return number >= units_ ? sequences_ : PlaceIn(*Find(number), number).ordinal;
}

void Intake::Save(absl::Span<const uint64_t> pending,
                  StateWriter* writer) const {
  writer->Number(sequences_);
  if (OrdinalsAreNumbers()) return;
  uint64_t before = 0;
  for (const uint64_t number : pending) {
    const Place place = PlaceIn(*Find(number), number);
    writer->Number(place.ordinal - before);
    if (max_cut_ > 0) writer->Number(place.source_offset / cut_);
    before = place.ordinal;
  }
}

void Intake::Restore(uint64_t units, absl::Span<const uint64_t> pending,
                     StateReader* reader) {
  units_ = units;
  sequences_ = reader->Count();
  Cursor cursor = {0, 0, 0};
  uint64_t ordinal = 0;
  for (const uint64_t number : pending) {
    uint32_t cuts = 0;
    if (OrdinalsAreNumbers()) {
      ordinal = number;
    } else {
      ordinal += reader->NumberUpTo(sequences_ - ordinal);
      if (max_cut_ > 0) {
        cuts = static_cast<uint32_t>(reader->NumberUpTo(max_cut_));
      }
    }
    const uint32_t piece = most_units_ > 1 ? cuts : 0;
    if (!MayFollow(cursor, number, ordinal, piece)) reader->Fail();
    if (!reader->ok()) return;
    AddRun({number, {ordinal, cuts * cut_}, /*pieces=*/piece > 0});
    cursor = {number + 1, ordinal + 1, most_units_ - 1 - piece};
  }
  if (!MayFollow(cursor, units_, sequences_, 0)) reader->Fail();
}

bool Intake::MayFollow(const Cursor& cursor, uint64_t number, uint64_t ordinal,
                       uint64_t piece) const {
  const uint64_t between = number - cursor.number;
  if (ordinal + 1 == cursor.ordinal) {  // another piece of the same
    return piece == most_units_ - cursor.pieces + between;
  }
  if (ordinal < cursor.ordinal || between < piece) return false;
  const uint64_t sequences = ordinal - cursor.ordinal;
  const uint64_t units = between - piece;
  // Those of the sequences between have to be least_units_ each at least, and
  // most_units_ at most.
  return units >= sequences * least_units_ &&
         (units <= cursor.pieces ||
          (units - cursor.pieces - 1) / most_units_ < sequences);
}

uint64_t Intake::MaxStateBytes() const {
  uint64_t unit = 0;
  if (!OrdinalsAreNumbers()) unit += MaxNumberBytes(kMaxStreamCount);
  if (max_cut_ > 0) unit += MaxNumberBytes(max_cut_);
  return MaxNumberBytes(kMaxStreamCount) +
         static_cast<uint64_t>(spec_.window_sequences) * unit;
}

}  // namespace packhouse
