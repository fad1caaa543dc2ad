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
  std::unique_ptr<Rule> (*make)(const PackSpec& spec);
};

// Every rule there is; docs/packing.md defines each.
constexpr NamedRule kRules[] = {
    {"spfhp", NewSpfhpRule},
    {"lpfhp", NewLpfhpRule},
};

}  // namespace

std::vector<std::string> AlgorithmNames() {
  std::vector<std::string> names;
  for (const NamedRule& rule : kRules) names.push_back(rule.name);
  return names;
}

std::unique_ptr<Rule> NewRule(const PackSpec& spec) {
  return std::find_if(
             std::begin(kRules), std::end(kRules),
             [&](const NamedRule& r) { return spec.algorithm == r.name; })
      ->make(spec);
}

}  // namespace packhouse
