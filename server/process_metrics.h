// The process_* series that every Prometheus client exports, which
// prometheus-cpp leaves to its users. Read from the kernel at each scrape.

#ifndef PACKHOUSE_SERVER_PROCESS_METRICS_H_
#define PACKHOUSE_SERVER_PROCESS_METRICS_H_

#include <vector>

#include "absl/types/optional.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"

namespace packhouse {

// What the kernel says of this process; none where it does not tell.
absl::optional<double> ProcessCpuSeconds();
absl::optional<double> ProcessResidentBytes();

// Thread-safe.
class ProcessMetrics final : public prometheus::Collectable {
 public:
  // What the kernel does not tell is left out.
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_PROCESS_METRICS_H_
