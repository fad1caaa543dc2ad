// The seam between what every packer does and how packs are chosen.
//
// Packer (include/packhouse/packer.h) applies the policies, turns lengths into
// footprints and keeps the books; a Rule only decides which units share a
// pack. A unit is a sequence, or a piece of one, that will be packed; units are
// numbered 0, 1, 2, ... in order of arrival; footprints are counted in
// multiples of the alignment (units.h).
//
// To add an online rule: derive from Rule and add a line to the table in
// rule.cc.

#ifndef PACKHOUSE_PACKING_RULE_H_
#define PACKHOUSE_PACKING_RULE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"
#include "packing/state.h"

namespace packhouse {

class Rule {
 public:
  virtual ~Rule() = default;

  // Takes the next units, each from 1 to the capacity; the first one ever has
  // the number 0. Appends every pack that is now decided: offsets and
  // ordinals, which are the units' numbers and ascend inside a pack.
  virtual void Add(absl::Span<const uint32_t> footprints, Packs* packs) = 0;

  // Decides about all pending units.
  virtual void Flush(Packs* packs) = 0;

  // Units taken that are in no pack yet.
  virtual uint64_t pending() const = 0;

  // Number of the oldest of them, or of the next unit where there is none.
  virtual uint64_t oldest_pending() const = 0;

  // Numbers of all of them, ascending.
  virtual std::vector<uint64_t> PendingNumbers() const = 0;

  // Writes all that later packs depend on, but for how many units were taken:
  // O(window) bytes.
  virtual void Save(StateWriter* writer) const = 0;

  // Makes a new rule of the same spec go on where the saved one was after
  // `taken` units. Reads exactly what Save wrote. The reader fails where no
  // rule can have written that after so many units; then this one must not be
  // used.
  virtual void Restore(uint64_t taken, StateReader* reader) = 0;

  // Save never writes more bytes.
  virtual uint64_t MaxStateBytes() const = 0;
};

// Requires a valid spec with an online rule.
std::unique_ptr<Rule> NewRule(const PackSpec& spec);

// Which of the open packs that have enough room a decreasing rule takes.
enum class Prefer { kMostRoom, kLeastRoom };

// None where the rule of the spec, which must be valid, is not a plain
// decreasing one.
absl::optional<Prefer> PreferenceOf(const PackSpec& spec);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_RULE_H_
