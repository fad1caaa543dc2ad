// The seam between what every packer does and how packs are chosen.
//
// Packer (include/packhouse/packer.h) checks lengths, turns them into
// footprints and keeps the books; a Rule only decides which units share a
// pack. A unit is a sequence that will be packed; footprints are counted in
// multiples of the alignment (units.h).
//
// To add a rule: derive from Rule and add a line to the table in rule.cc.

#ifndef PACKHOUSE_PACKING_RULE_H_
#define PACKHOUSE_PACKING_RULE_H_

#include <cstdint>
#include <memory>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"

namespace packhouse {

class Rule {
 public:
  virtual ~Rule() = default;

  // Takes the next units, each from 1 to the capacity; the first one ever has
  // the number 0. Appends every pack that is now decided.
  virtual void Add(absl::Span<const uint32_t> footprints, Packs* packs) = 0;

  // Decides about all pending units.
  virtual void Flush(Packs* packs) = 0;

  // Units taken that are in no pack yet.
  virtual uint64_t pending() const = 0;
};

// Requires a valid spec.
std::unique_ptr<Rule> NewRule(const PackSpec& spec);

// Which of the open packs that have enough room a decreasing rule takes.
enum class Prefer { kMostRoom, kLeastRoom };

// None where the rule of the spec, which must be valid, is not a decreasing
// one.
absl::optional<Prefer> PreferenceOf(const PackSpec& spec);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_RULE_H_
