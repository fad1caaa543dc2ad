#include "packhouse/plan.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "packhouse/packer.h"
#include "packing/counts.h"
#include "packing/intake.h"
#include "packing/offline/bind.h"
#include "packing/offline/budget.h"
#include "packing/offline/pack_counts.h"
#include "packing/rule.h"
#include "packing/shuffle.h"
#include "packing/units.h"

namespace packhouse {
namespace {

// What the rules for streams make of the units, each asked for when `best`
// wants it. `footprints` must outlive them.
std::vector<Candidate> OnlineCandidates(const PackSpec& spec,
                                        absl::Span<const uint32_t> footprints) {
  PackSpec online;
  online.capacity_tokens = Units(spec).capacity;
  online.window_sequences = spec.window_sequences;
  online.max_sequences_per_pack = spec.max_sequences_per_pack;
  std::vector<Candidate> candidates;
  const auto add = [&] {
    candidates.push_back({online.algorithm, [online, footprints] {
                            const std::unique_ptr<Rule> rule = NewRule(online);
                            Packs packs;
                            rule->Add(footprints, &packs);
                            rule->Flush(&packs);
                            return GroupsOf(packs, footprints);
                          }});
  };
  for (const std::string& name : AlgorithmNames()) {
    if (!IsOnline(name)) continue;
    online.algorithm = name;
    add();
    if (name != "sliding") continue;
    for (const Effort effort : {Effort::kFast, Effort::kThorough}) {
      online.effort = effort;
      add();
    }
    online.effort = Effort::kBalanced;
  }
  // Where the limit binds, the whole list is its best window.
  online.algorithm = "depth_aware";
  online.window_sequences =
      std::max<int64_t>(1, static_cast<int64_t>(footprints.size()));
  add();
  return candidates;
}

// By a rule that looks at the whole list. Requires a valid spec and lengths
// that CheckLengths accepts.
Packs PlanWholeList(absl::Span<const uint32_t> lengths, const PackSpec& spec,
                    PlanNotes* notes) {
  const SpentTime spent = StartBudget(spec);
  std::vector<uint32_t> units;
  Intake intake(spec);
  intake.Feed(lengths, [&](absl::Span<const uint32_t> footprints) {
    units.insert(units.end(), footprints.begin(), footprints.end());
  });
  Packs packs;
  BindUnits(units,
            PackCounts(spec, CountFootprints(units),
                       OnlineCandidates(spec, units), spent, notes),
            &packs);
  if (spec.seed.has_value()) ShufflePacks(*spec.seed, 0, 0, &packs);
  intake.Rename(0, &packs);
  return packs;
}

// By a rule for streams.
absl::StatusOr<Packs> PlanStream(absl::Span<const uint32_t> lengths,
                                 const PackSpec& spec) {
  absl::StatusOr<Packer> packer = Packer::Create(spec);
  if (!packer.ok()) return packer.status();
  Packs packs;
  absl::Status status = packer->Add(lengths, &packs);
  if (status.ok()) status = packer->Finish(&packs);
  if (!status.ok()) return status;
  return packs;
}

}  // namespace

absl::StatusOr<Packs> Plan(absl::Span<const uint32_t> lengths,
                           const PackSpec& spec, PlanNotes* notes) {
  if (notes != nullptr) *notes = {};
  if (IsOnline(spec.algorithm)) return PlanStream(lengths, spec);
  if (absl::Status status = ValidateSpec(spec); !status.ok()) return status;
  if (absl::Status status = CheckLengths(spec, lengths, 0); !status.ok()) {
    return status;
  }
  return PlanWholeList(lengths, spec, notes);
}

}  // namespace packhouse
