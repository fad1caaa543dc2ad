#ifndef PACKHOUSE_TESTS_SERVER_STANDSTILL_H_
#define PACKHOUSE_TESTS_SERVER_STANDSTILL_H_

#include <cstdint>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/server.h"

namespace packhouse {

// Waits until the server has taken no sequence for a while, because a client
// does not read what it is answered. Returns how many it has taken.
inline uint64_t AwaitStandstill(const Server& server) {
  uint64_t taken = 0;
  for (absl::Time moved = absl::Now();
       absl::Now() < moved + absl::Milliseconds(500);
       absl::SleepFor(absl::Milliseconds(5))) {
    const uint64_t now = server.totals().sequences;
    if (now != taken) moved = absl::Now();
    taken = now;
  }
  return taken;
}

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_SERVER_STANDSTILL_H_
