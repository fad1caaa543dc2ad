// Sequences in, units to the rule, ordinals out.
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

#include "absl/types/span.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"
#include "packing/rule.h"
#include "packing/state.h"

namespace packhouse {

class Intake {
 public:
  // Requires a valid spec.
  explicit Intake(const PackSpec& spec);

  // Gives `rule` the units of the next sequences, which CheckLengths must
  // accept; packs that it decides are appended to *packs as it numbers them.
  void Feed(absl::Span<const uint32_t> lengths, Rule* rule, Packs* packs);

  // Turns the numbers in *packs, from entry `first` on, into ordinals and
  // source offsets.
  void Rename(size_t first, Packs* packs) const;

  // No unit before the one with this number will be renamed any more.
  void Forget(uint64_t number);

  // Sequences taken so far: the ordinal of the next.
  uint64_t sequences() const { return sequences_; }

  // The ordinal of the unit with this number; sequences() for the next unit.
  uint64_t OrdinalOf(uint64_t number) const;

  void Save(StateWriter* writer) const;
  void Restore(StateReader* reader);

  // True where a rule may have got its units from here.
  bool Covers(const Rule& rule) const;

 private:
  // Consecutive units from number `first` on: sequences from `ordinal` on, or
  // the pieces of that one.
  struct Run {
    uint64_t first;
    uint64_t ordinal;
    uint32_t source_offset;  // of the first unit
    bool pieces;
  };

  void FeedWhole(absl::Span<const uint32_t> lengths, Rule* rule, Packs* packs);
  void FeedOther(uint32_t length, Rule* rule, Packs* packs);

  // The next units begin a run, unless they go on with the last one.
  void BeginRun(uint32_t source_offset, bool pieces);

  // The run of the unit with this number.
  std::deque<Run>::const_iterator Find(uint64_t number) const;

  const PackSpec spec_;
  const uint32_t longest_;  // that is packed whole
  uint64_t sequences_ = 0;
  uint64_t units_ = 0;
  std::deque<Run> runs_;  // by `first`; of all units that may be renamed
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_INTAKE_H_
