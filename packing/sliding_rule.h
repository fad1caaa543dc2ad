// The rule `sliding`: the window never closes.
//
// Units wait in a pool of at most `window_sequences`. Before another one enters
// a full pool, a pack leaves: one unit is chosen as its *anchor*, and the units
// that share its pack so that it loses least (pack_search.h) by the price that
// suits the pool (price.h, price_choice.h). Also, before a unit would wait for
// more than max_displacement later arrivals, a pack leaves around it.
//
// The anchor is the longest unit, as with the offline rules, so that what stays
// behind are the short ones that go with anything; but a unit that is due is
// the anchor, so that none is put off for ever. Where pieces are priced, a few
// of the oldest kinds are tried where the longest loses too much. `fast` and,
// by volume, depth limits are for the oldest at once.
//
// A flush, and the end, find the whole rest known: it is packed in several ways
// and the fewest packs are taken, oldest first.
//
// docs/sliding.md explains the idea, the constants and what they are worth.

#ifndef PACKHOUSE_PACKING_SLIDING_RULE_H_
#define PACKHOUSE_PACKING_SLIDING_RULE_H_

#include <cstdint>
#include <memory>

#include "packing/rule.h"

namespace packhouse {

// Later arrivals that a unit waits for at most: the max_displacement of the
// spec, or its default.
uint64_t SlidingMaxAge(const PackSpec& spec);

std::unique_ptr<Rule> NewSlidingRule(const PackSpec& spec);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_SLIDING_RULE_H_
