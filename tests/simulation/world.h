// A stream, its owner, two servers and the network between them as one program
// that a seed decides: who moves next, what is lost, who dies.
//
// There is no clock and no thread. Messages wait in queues; every step moves
// one of them, lets the owner do something, or breaks something: a connection
// is cut, so that each end has what it has and the rest is gone; a server dies
// and comes back empty, drains, or ends an idle stream; the owner dies and goes
// on from the state that it saved last, or from nothing. A connection that the
// client has given up may live on at its server for a while and is fenced when
// the stream comes back. After a number of faults nothing breaks any more, so
// that every stream has to end.

#ifndef PACKHOUSE_TESTS_SIMULATION_WORLD_H_
#define PACKHOUSE_TESTS_SIMULATION_WORLD_H_

#include <cstdint>
#include <string>

#include "tests/simulation/history.h"

namespace packhouse {

// What can be wrong with the world itself: the checkers have to find it.
enum class Bug {
  kNone,
  // The owner's saved state counts packs that were received as taken: they are
  // acknowledged too early and lost with the owner.
  kSavesBeforeTaking,
  // One server follows another rule.
  kAnotherRule,
  // A server takes requests whatever waits to be sent.
  kReadsWithoutEnd,
  // The owner goes on from a saved state as if it were the newest.
  kMiscountsTaken,
};

struct Outcome {
  History history;
  // What a session or the world itself found wrong; empty if nothing.
  std::string error;
  // What happened, to see that the seeds reach what they should.
  uint64_t steps = 0;
  uint64_t connections = 0;
  uint64_t resumed_from_snapshots = 0;
  uint64_t fenced = 0;
  uint64_t owner_deaths = 0;
  uint64_t server_deaths = 0;
};

Outcome RunWorld(uint64_t seed, Bug bug = Bug::kNone);

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_SIMULATION_WORLD_H_
