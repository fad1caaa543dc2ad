#include "packhouse/plan.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "packhouse/packer.h"
#include "packing/counts.h"
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

// Gathers all units and packs them at the end. Its packer lives within Plan, so
// it is never saved.
class WholeListRule final : public Rule {
 public:
  WholeListRule(const PackSpec& spec, SpentTime spent, PlanNotes* notes)
      : spec_(spec), spent_(std::move(spent)), notes_(notes) {}

  void Add(absl::Span<const uint32_t> footprints, Packs*) override {
    units_.insert(units_.end(), footprints.begin(), footprints.end());
  }

  void Flush(Packs* packs) override {
    const FootprintGroups groups =
        PackCounts(spec_, CountFootprints(units_),
                   OnlineCandidates(spec_, units_), spent_, notes_);
    const size_t first_pack = packs->size();
    BindUnits(units_, groups, packs);
    if (spec_.seed.has_value()) ShufflePacks(*spec_.seed, 0, first_pack, packs);
    packed_ += units_.size();
    units_.clear();
  }

  uint64_t pending() const override { return units_.size(); }
  uint64_t oldest_pending() const override { return packed_; }

  void Save(StateWriter*) const override {}
  absl::Status Restore(StateReader*) override {
    return absl::UnimplementedError("a plan of a whole list has no state");
  }

 private:
  const PackSpec spec_;
  const SpentTime spent_;
  PlanNotes* const notes_;
  std::vector<uint32_t> units_;
  uint64_t packed_ = 0;
};

}  // namespace

absl::StatusOr<Packs> Plan(absl::Span<const uint32_t> lengths,
                           const PackSpec& spec, PlanNotes* notes) {
  if (notes != nullptr) *notes = {};
  if (absl::Status status = ValidateSpec(spec); !status.ok()) return status;
  Packer packer(spec, IsOnline(spec.algorithm)
                          ? NewRule(spec)
                          : std::make_unique<WholeListRule>(
                                spec, StartBudget(spec), notes));
  Packs packs;
  absl::Status status = packer.Add(lengths, &packs);
  if (status.ok()) status = packer.Finish(&packs);
  if (!status.ok()) return status;
  return packs;
}

}  // namespace packhouse
