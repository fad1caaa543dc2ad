// The windowed decreasing rules, spfhp and lpfhp.
//
// Units gather until the window is full (or flushed); then all of them are
// packed at once, longest first, equal ones in order of arrival. Each goes
// into the open pack
//
//   spfhp: with the most room (shortest pack first, worst-fit decreasing);
//   lpfhp: with the least room that still takes it (best-fit decreasing);
//
// of packs with equal room into the one opened first; a pack that is full by
// count takes no more; where no pack takes it a new one opens. The packs are
// released in the order of their openers' arrival.
//
// The idea and the histogram form are Krell et al.'s ("Efficient Sequence
// Packing without Cross-contamination", section 3.1); here sequences are placed
// one at a time, since the published batch form opens a pack for every
// left-over copy of a length.

#ifndef PACKHOUSE_PACKING_DECREASING_RULE_H_
#define PACKHOUSE_PACKING_DECREASING_RULE_H_

#include <memory>

#include "packing/rule.h"

namespace packhouse {

std::unique_ptr<Rule> NewDecreasingRule(const PackSpec& spec, Prefer prefer);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_DECREASING_RULE_H_
