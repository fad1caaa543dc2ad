#include "packhouse/cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "packing/shuffle.h"

namespace packhouse {
namespace {

__extension__ typedef unsigned __int128 Wide;

void CheckCoefficient(absl::string_view field, double value,
                      std::vector<std::string>* violations) {
  if (value >= 0 && value <= kMaxCostCoefficient) return;
  violations->push_back(absl::StrCat(
      field, " is ", value, ", it must be from 0 to ", kMaxCostCoefficient));
}

absl::Status CheckBalance(absl::Span<const double> costs, uint64_t ranks,
                          uint64_t look_ahead) {
  if (ranks == 0) {
    return absl::InvalidArgumentError("ranks is 0, it must be at least 1");
  }
  if (look_ahead < ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat("look_ahead is ", look_ahead,
                     " packs, it must be at least ranks, ", ranks));
  }
  for (size_t i = 0; i < costs.size(); ++i) {
    if (costs[i] >= 0 && std::isfinite(costs[i])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the cost of pack ", i, " is ", costs[i],
                     ", it must be finite and not negative"));
  }
  return absl::OkStatus();
}

// Puts the indices of a block's packs, which ascend, into the order that
// Balance defines.
void BalanceBlock(absl::Span<const double> costs, uint64_t ranks, uint64_t seed,
                  uint64_t number, absl::Span<uint64_t> block) {
  std::vector<uint64_t> by_cost(block.begin(), block.end());
  std::sort(by_cost.begin(), by_cost.end(), [&](uint64_t a, uint64_t b) {
    return costs[a] != costs[b] ? costs[a] > costs[b] : a < b;
  });
  const size_t full_steps = block.size() / ranks;
  std::vector<size_t> order = ShuffledOrder(seed, number, full_steps);
  if (block.size() % ranks != 0) order.push_back(full_steps);
  auto place = block.begin();
  for (const size_t step : order) {
    const auto packs =
        absl::MakeConstSpan(by_cost).subspan(step * ranks, ranks);
    const auto end = std::copy(packs.begin(), packs.end(), place);
    std::sort(place, end);
    place = end;
  }
}

}  // namespace

absl::Status ValidateCostModel(const CostModel& model) {
  std::vector<std::string> violations;
  CheckCoefficient("per_token", model.per_token, &violations);
  CheckCoefficient("per_token_squared", model.per_token_squared, &violations);
  if (violations.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(violations, "; "));
}

absl::StatusOr<std::vector<double>> PackCosts(
    absl::Span<const uint32_t> lengths, const Packs& packs,
    const CostModel& model) {
  if (absl::Status status = ValidateCostModel(model); !status.ok()) {
    return status;
  }
  if (lengths.size() != packs.ordinals.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the packs hold ", packs.ordinals.size(),
                     " sequences, but there are ", lengths.size(), " lengths"));
  }
  std::vector<double> costs;
  costs.reserve(packs.size());
  for (size_t i = 0; i < packs.size(); ++i) {
    uint64_t tokens = 0;
    Wide squares = 0;
    for (uint64_t at = packs.offsets[i]; at < packs.offsets[i + 1]; ++at) {
      const uint64_t length = lengths[at];
      tokens += length;
      squares += length * length;
    }
    costs.push_back(model.per_token * static_cast<double>(tokens) +
                    model.per_token_squared * static_cast<double>(squares));
  }
  return costs;
}

absl::StatusOr<Steps> Balance(absl::Span<const double> costs, uint64_t ranks,
                              uint64_t look_ahead, uint64_t seed) {
  if (absl::Status status = CheckBalance(costs, ranks, look_ahead);
      !status.ok()) {
    return status;
  }
  Steps steps;
  steps.ranks = ranks;
  steps.packs.resize(costs.size());
  std::iota(steps.packs.begin(), steps.packs.end(), 0);
  const uint64_t block = look_ahead / ranks * ranks;
  absl::Span<uint64_t> left = absl::MakeSpan(steps.packs);
  for (uint64_t number = 0; !left.empty(); ++number) {
    const absl::Span<uint64_t> next = left.subspan(0, block);
    BalanceBlock(costs, ranks, seed, number, next);
    left.remove_prefix(next.size());
  }
  return steps;
}

absl::optional<double> StepImbalance(absl::Span<const double> costs,
                                     const Steps& steps) {
  double dearest = 0;
  double mean = 0;
  for (size_t s = 0; s < steps.size(); ++s) {
    const absl::Span<const uint64_t> step = steps[s];
    double most = 0;
    double sum = 0;
    for (const uint64_t pack : step) {
      most = std::max(most, costs[pack]);
      sum += costs[pack];
    }
    dearest += most;
    mean += sum / static_cast<double>(step.size());
  }
  if (mean == 0) return absl::nullopt;
  return dearest / mean;
}

}  // namespace packhouse
