// Sequences in, units out to whoever packs them, and their ordinals afterwards.
//
// A rule numbers units by arrival. As long as every sequence is one unit that
// begins at its first token, the number is the ordinal. A dropped sequence, a
// cut head and a split one shift that; the intake keeps one *run* for each
// stretch of units between such places, so that what it costs is nothing where
// there are none, and no more than the rule's own memory where there are many.

#ifndef PACKHOUSE_PACKING_INTAKE_H_
#define PACKHOUSE_PACKING_INTAKE_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"
#include "packing/state.h"

namespace packhouse {

class Intake {
 public:
  // Requires a valid spec.
  explicit Intake(const PackSpec& spec);

  // Takes footprints of the next units, in multiples of the alignment.
  using TakeUnits = absl::FunctionRef<void(absl::Span<const uint32_t>)>;

  // Gives `take` the units of the next sequences, which CheckLengths must
  // accept, in one call or several.
  void Feed(absl::Span<const uint32_t> lengths, TakeUnits take);

  // Turns the numbers in *packs, from entry `first` on, into ordinals and
  // source offsets.
  void Rename(size_t first, Packs* packs) const;

  // No unit before the one with this number will be renamed any more.
  void Forget(uint64_t number);

  // Sequences taken so far: the ordinal of the next.
  uint64_t sequences() const { return sequences_; }

  // Units that they became.
  uint64_t units() const { return units_; }

  // The ordinal of the unit with this number; sequences() for the next unit.
  uint64_t OrdinalOf(uint64_t number) const;

  // Of the places of the units with these numbers, ascending, which are all
  // that may be renamed later; not of units().
  void Save(absl::Span<const uint64_t> pending, StateWriter* writer) const;

  // The reader fails where no sequences can become `units` units with these
  // among them at these places; then the intake must not be used.
  void Restore(uint64_t units, absl::Span<const uint64_t> pending,
               StateReader* reader);

  // Save never writes more bytes for at most a window of units.
  uint64_t MaxStateBytes() const;

 private:
  struct Place {
    uint64_t ordinal;
    uint32_t source_offset;
  };

  // Consecutive units from number `first` on, the first at `place`: one of each
  // sequence from there on, or the pieces of that one.
  struct Run {
    uint64_t first;
    Place place;
    bool pieces;
  };

  // What comes next behind a unit.
  struct Cursor {
    uint64_t number;   // of the next unit
    uint64_t ordinal;  // of the next sequence
    uint64_t pieces;   // that there may be of the sequence before
  };

  void FeedWhole(absl::Span<const uint32_t> lengths, TakeUnits take);
  void FeedOther(uint32_t length, TakeUnits take);

  // Keeps the run, unless its units go on with the last one.
  void AddRun(const Run& run);

  // The run of the unit with this number, and the place of one in a run.
  std::deque<Run>::const_iterator Find(uint64_t number) const;
  Place PlaceIn(const Run& run, uint64_t number) const;

  // Whether the next sequences can be such that the unit with this number is of
  // that sequence: its piece with this index, or the whole of it, index 0.
  bool MayFollow(const Cursor& cursor, uint64_t number, uint64_t ordinal,
                 uint64_t piece) const;

  // True where the policies make one unit of each sequence, from its first
  // token on.
  bool OrdinalsAreNumbers() const { return least_units_ == 1 && max_cut_ == 0; }

  const PackSpec spec_;
  const uint32_t longest_;  // that is packed whole

  // Units of a sequence that is not refused.
  const uint32_t least_units_;
  const uint32_t most_units_;

  // Where a unit can begin: at multiples of `cut_`, up to `max_cut_` times.
  const uint32_t cut_;
  const uint32_t max_cut_;

  uint64_t sequences_ = 0;
  uint64_t units_ = 0;
  std::deque<Run> runs_;  // by `first`; of all units that may be renamed
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_INTAKE_H_
