// The windowed rule `depth_aware`, for when max_sequences_per_pack binds.
//
// A decreasing rule fills its first packs with long sequences and leaves the
// short ones for the end, where packs are full by count and almost empty. A
// dense plan has to use up tokens and slots at the same pace. So this rule asks
// before each sequence which of the two will run out in what is left, and saves
// that one.
//
// The definition, in units (units.h), capacity C, at most k units a pack. A
// window is packed in two ways:
//
//   lpfhp  as decreasing_rule.h says;
//   level  pack by pack. A pack is opened by the largest unit left. Then, while
//          it has slots s > 0 and units are left: with room R, n units left in
//          the window (those in packs are not) and their sum v, let the share
//          be e = floor(R / s).
//            (n - 1) * C >= (v - e) * k: slots are what runs out. Take the
//              largest unit left that is at most e; where there is none the
//              smallest unit left, if it is at most R.
//            otherwise tokens are what runs out. Take the largest unit left
//              that is at most R.
//          Where nothing can be taken the pack is done. Of equal units the one
//          that arrived first is taken.
//
// The window's packs are those of `level` if some pack of lpfhp holds k units
// and `level` has fewer packs, else those of lpfhp. So it never has more packs
// than lpfhp, and a limit that lpfhp does not meet changes nothing. The packs
// are released in the order of their openers' arrival.

#ifndef PACKHOUSE_PACKING_DEPTH_AWARE_RULE_H_
#define PACKHOUSE_PACKING_DEPTH_AWARE_RULE_H_

#include <memory>

#include "packing/rule.h"

namespace packhouse {

std::unique_ptr<Rule> NewDepthAwareRule(const PackSpec& spec);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_DEPTH_AWARE_RULE_H_
