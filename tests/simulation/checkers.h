// The guarantees of a stream, each with its name, one sentence and a check of
// a recorded history. They know nothing of sessions and servers.
//
//   Conserved      Every sequence is in the packs taken exactly once, whole or
//                  as its policy says.
//   Fits           No pack is over the capacity or the limit of sequences, or
//                  empty.
//   Ordered        Packs are taken in the order of their numbers, none left out
//                  and none twice, and ordinals ascend in each.
//   Deterministic  The packs are those of a packer that got the same sequences
//                  and flushes without a break.
//   Resumable      An owner that goes on from a saved state takes the packs
//   that
//                  follow those it had taken, and where an earlier life took
//                  them too, the same ones.
//   Bounded        Neither end keeps, and no message has, more than is stated.

#ifndef PACKHOUSE_TESTS_SIMULATION_CHECKERS_H_
#define PACKHOUSE_TESTS_SIMULATION_CHECKERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/simulation/history.h"

namespace packhouse {

struct Checker {
  const char* name;
  absl::Status (*check)(const History& history);
};

// All six, in the order above.
const std::vector<Checker>& Checkers();

// The first guarantee that the history breaks, as "NAME: what"; empty where it
// breaks none.
std::string FindViolation(const History& history);

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_SIMULATION_CHECKERS_H_
