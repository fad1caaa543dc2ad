#include "client/cli/packing_speed.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "client/cli/stopwatch.h"
#include "packhouse/packer.h"
#include "packhouse/packs.h"
#include "packhouse/policy.h"

namespace packhouse {
namespace {

constexpr size_t kSyntheticSequences = size_t{1} << 18;
constexpr double kSyntheticMedian = 512;
constexpr double kSyntheticLongest = kBenchCapacityTokens;

// A server's usual batch: the packs stay as small as they are there.
constexpr size_t kPieceSequences = 4096;

constexpr uint64_t kMinRepetitions = 3;  // so that the median means something
constexpr uint64_t kMaxRepetitions = 1000;
constexpr double kRuleSeconds = 1;

// A number above 0 and at most 1.
double Uniform(std::mt19937_64* generator) {
  constexpr double kStep = 1.0 / (uint64_t{1} << 53);
  return static_cast<double>(((*generator)() >> 11) + 1) * kStep;
}

// By Box and Muller; the standard library's differ between compilers.
double Normal(std::mt19937_64* generator) {
  constexpr double kTwoPi = 6.283185307179586;
  const double radius = std::sqrt(-2 * std::log(Uniform(generator)));
  return radius * std::cos(kTwoPi * Uniform(generator));
}

struct Repetition {
  double seconds = 0;
  uint64_t packs = 0;
};

absl::StatusOr<Repetition> PackOnce(absl::Span<const uint32_t> lengths,
                                    const PackSpec& spec, Packs* packs) {
  Repetition repetition;
  const CpuStopwatch watch;
  absl::StatusOr<Packer> packer = Packer::Create(spec);
  if (!packer.ok()) return packer.status();
  for (size_t at = 0; at < lengths.size(); at += kPieceSequences) {
    packs->Clear();
    absl::Status status =
        packer->Add(lengths.subspan(at, kPieceSequences), packs);
    if (!status.ok()) return status;
    repetition.packs += packs->size();
  }
  packs->Clear();
  absl::Status status = packer->Finish(packs);
  if (!status.ok()) return status;
  repetition.packs += packs->size();
  repetition.seconds = watch.seconds();
  return repetition;
}

absl::StatusOr<SpeedRow> Measure(absl::Span<const uint32_t> lengths,
                                 const PackSpec& spec) {
  SpeedRow row;
  row.spec = spec;
  Packs packs;
  std::vector<double> seconds;
  const Stopwatch watch;
  while (seconds.size() < kMinRepetitions ||
         (seconds.size() < kMaxRepetitions && watch.seconds() < kRuleSeconds)) {
    const absl::StatusOr<Repetition> repetition =
        PackOnce(lengths, spec, &packs);
    if (!repetition.ok()) return repetition.status();
    seconds.push_back(repetition->seconds);
    row.packs = repetition->packs;
  }
  std::sort(seconds.begin(), seconds.end());
  row.repetitions = seconds.size();
  row.best_seconds = seconds.front();
  row.median_seconds = seconds[seconds.size() / 2];
  if (row.packs > 0) {
    row.efficiency =
        static_cast<double>(CountIntake(spec, lengths).packed_tokens) /
        (static_cast<double>(row.packs) *
         static_cast<double>(spec.capacity_tokens));
  }
  return row;
}

std::vector<Effort> Efforts(const std::string& rule) {
  if (rule != "sliding") return {Effort::kBalanced};
  return {Effort::kFast, Effort::kBalanced, Effort::kThorough};
}

// All of the specs to measure, valid ones.
absl::StatusOr<std::vector<PackSpec>> Specs(const SpeedQuery& query) {
  std::vector<PackSpec> specs;
  const bool all = query.algorithms.empty();
  const std::vector<std::string> known = AlgorithmNames();
  for (const std::string& rule : all ? known : query.algorithms) {
    if (all && !IsOnline(rule)) continue;
    if (absl::c_linear_search(known, rule) && !IsOnline(rule)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "algorithm is ", rule, ", which packs whole lists only"));
    }
    for (const Effort effort : Efforts(rule)) {
      PackSpec spec = query.limits;
      spec.algorithm = rule;
      spec.effort = effort;
      absl::Status status = ValidateSpec(spec);
      if (!status.ok()) return status;
      specs.push_back(std::move(spec));
    }
  }
  return specs;
}

}  // namespace

std::vector<uint32_t> SyntheticLengths() {
  std::mt19937_64 generator(1);
  std::vector<uint32_t> lengths(kSyntheticSequences);
  for (uint32_t& length : lengths) {
    const double drawn = kSyntheticMedian * std::exp(Normal(&generator));
    length = static_cast<uint32_t>(std::clamp(drawn, 1.0, kSyntheticLongest));
  }
  return lengths;
}

absl::StatusOr<std::vector<SpeedRow>> MeasurePacking(
    absl::Span<const uint32_t> lengths, const SpeedQuery& query) {
  const absl::StatusOr<std::vector<PackSpec>> specs = Specs(query);
  if (!specs.ok()) return specs.status();
  std::vector<SpeedRow> rows;
  for (const PackSpec& spec : *specs) {
    absl::StatusOr<SpeedRow> row = Measure(lengths, spec);
    if (!row.ok()) return row.status();
    rows.push_back(*std::move(row));
  }
  return rows;
}

}  // namespace packhouse
