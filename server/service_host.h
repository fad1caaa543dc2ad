// What the calls of one server share.

#ifndef PACKHOUSE_SERVER_SERVICE_HOST_H_
#define PACKHOUSE_SERVER_SERVICE_HOST_H_

#include <cstdint>

#include "server/log.h"
#include "server/memory_budget.h"
#include "server/metrics.h"
#include "server/open_streams.h"
#include "server/server.h"
#include "server/work_pool.h"

namespace packhouse {

// The options, and what they bound. Outlives all calls and the jobs of `pool`.
struct ServiceHost {
  ServiceHost(const ServerOptions& server_options, WorkPool* work_pool,
              MemoryBudget* memory_budget, Metrics* server_metrics);

  const ServerOptions options;
  const uint64_t incarnation;  // drawn at random
  const absl::Time start_time;
  OpenStreams streams;
  WorkPool* const pool;
  MemoryBudget* const memory;
  Metrics* const metrics;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_SERVICE_HOST_H_
