#include "packing/rule.h"

#include <string>
#include <vector>

#include "packing/decreasing_rule.h"
#include "packing/depth_aware_rule.h"
#include "packing/sliding_rule.h"

namespace packhouse {
namespace {

struct NamedRule {
  const char* name;
  // Null where the rule packs whole lists only.
  std::unique_ptr<Rule> (*make)(const PackSpec& spec);
  absl::optional<Prefer> prefer;  // of a plain decreasing rule
};

template <Prefer kPrefer>
std::unique_ptr<Rule> NewDecreasing(const PackSpec& spec) {
  return NewDecreasingRule(spec, kPrefer);
}

// Every rule there is; docs/packing.md defines each.
constexpr NamedRule kRules[] = {
    {"spfhp", NewDecreasing<Prefer::kMostRoom>, Prefer::kMostRoom},
    {"lpfhp", NewDecreasing<Prefer::kLeastRoom>, Prefer::kLeastRoom},
    {"depth_aware", NewDepthAwareRule, absl::nullopt},
    {"sliding", NewSlidingRule, absl::nullopt},
    {"spfhp_reference", nullptr, absl::nullopt},
    {"lpfhp_reference", nullptr, absl::nullopt},
    {"nnlshp", nullptr, absl::nullopt},
    {"best", nullptr, absl::nullopt},
};

// Null where there is none.
const NamedRule* Find(absl::string_view algorithm) {
  for (const NamedRule& rule : kRules) {
    if (algorithm == rule.name) return &rule;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> AlgorithmNames() {
  std::vector<std::string> names;
  for (const NamedRule& rule : kRules) names.push_back(rule.name);
  return names;
}

bool IsOnline(absl::string_view algorithm) {
  const NamedRule* rule = Find(algorithm);
  return rule != nullptr && rule->make != nullptr;
}

absl::optional<Prefer> PreferenceOf(const PackSpec& spec) {
  return Find(spec.algorithm)->prefer;
}

std::unique_ptr<Rule> NewRule(const PackSpec& spec) {
  return Find(spec.algorithm)->make(spec);
}

}  // namespace packhouse
