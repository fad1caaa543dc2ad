#include "server/service_host.h"

#include <random>

#include "absl/time/clock.h"

namespace packhouse {
namespace {

uint64_t DrawIncarnation() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

ServiceHost::ServiceHost(const ServerOptions& server_options,
                         WorkPool* work_pool, MemoryBudget* memory_budget,
                         Metrics* server_metrics)
    : options(server_options),
      incarnation(DrawIncarnation()),
      start_time(absl::Now()),
      streams(options.max_streams),
      pool(work_pool),
      memory(memory_budget),
      metrics(server_metrics) {}

}  // namespace packhouse
