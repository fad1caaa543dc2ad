#include "server/process_metrics.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <system_error>

#include "absl/types/optional.h"

namespace packhouse {
namespace {

using prometheus::MetricType;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) * 1e-6;
}

double Now(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

absl::optional<double> OpenFds() {
  std::error_code error;
  const std::filesystem::directory_iterator begin("/proc/self/fd", error);
  if (error) return absl::nullopt;
  // Without the one that reads the folder.
  return static_cast<double>(
      std::distance(begin, std::filesystem::directory_iterator()) - 1);
}

absl::optional<double> MaxFds() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::nullopt;
  return limit.rlim_cur == RLIM_INFINITY
             ? std::numeric_limits<double>::infinity()
             : static_cast<double>(limit.rlim_cur);
}

absl::optional<double> StartTimeSeconds() {
  std::ifstream file("/proc/self/stat");
  // The name, in parentheses, may hold anything; no later field a parenthesis.
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return absl::nullopt;
  constexpr int kFieldsFromNameToStartTime = 20;
  size_t at = name_end + 1;
  for (int i = 1; i < kFieldsFromNameToStartTime && at != std::string::npos;
       ++i) {
    at = text.find(' ', at + 1);
  }
  if (at == std::string::npos) return absl::nullopt;
  const double since_boot = std::strtod(text.c_str() + at, nullptr) /
                            static_cast<double>(sysconf(_SC_CLK_TCK));
  return Now(CLOCK_REALTIME) - (Now(CLOCK_BOOTTIME) - since_boot);
}

void Append(const char* name, const char* help, MetricType type,
            absl::optional<double> value,
            std::vector<prometheus::MetricFamily>* families) {
  if (!value.has_value()) return;
  prometheus::ClientMetric metric;
  if (type == MetricType::Counter) {
    metric.counter.value = *value;
  } else {
    metric.gauge.value = *value;
  }
  families->push_back({name, help, type, {metric}});
}

}  // namespace

absl::optional<double> ProcessCpuSeconds() {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return absl::nullopt;
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

absl::optional<double> ProcessResidentBytes() {
  std::ifstream file("/proc/self/statm");
  double pages_total, pages_resident;
  if (!(file >> pages_total >> pages_resident)) return absl::nullopt;
  return pages_resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

std::vector<prometheus::MetricFamily> ProcessMetrics::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  Append("process_cpu_seconds_total",
         "CPU time that the process has used, user and system, in seconds.",
         MetricType::Counter, ProcessCpuSeconds(), &families);
  Append("process_resident_memory_bytes",
         "Memory of the process that is in RAM, in bytes.", MetricType::Gauge,
         ProcessResidentBytes(), &families);
  Append("process_open_fds", "File descriptors that the process has open.",
         MetricType::Gauge, OpenFds(), &families);
  Append("process_max_fds", "File descriptors that the process may have open.",
         MetricType::Gauge, MaxFds(), &families);
  Append("process_start_time_seconds",
         "When the process started, in seconds since the Unix epoch.",
         MetricType::Gauge, StartTimeSeconds(), &families);
  return families;
}

}  // namespace packhouse
