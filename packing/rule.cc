#include "packing/rule.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "packing/window_rule.h"

namespace packhouse {
namespace {

struct NamedRule {
  const char* name;
  absl::optional<Prefer> prefer;  // of a decreasing rule
};

// Every rule there is; docs/packing.md defines each.
constexpr NamedRule kRules[] = {
    {"spfhp", Prefer::kMostRoom},
    {"lpfhp", Prefer::kLeastRoom},
};

}  // namespace

std::vector<std::string> AlgorithmNames() {
  std::vector<std::string> names;
  names.reserve(std::size(kRules));
  for (const NamedRule& rule : kRules) names.push_back(rule.name);
  return names;
}

absl::optional<Prefer> PreferenceOf(const PackSpec& spec) {
  const auto named = [&](const NamedRule& r) {
    return spec.algorithm == r.name;
  };
  return std::find_if(std::begin(kRules), std::end(kRules), named)->prefer;
}

std::unique_ptr<Rule> NewRule(const PackSpec& spec) {
  return NewWindowRule(spec, *PreferenceOf(spec));
}

}  // namespace packhouse
