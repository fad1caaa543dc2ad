#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "packhouse/cost.h"
#include "packhouse/packer.h"
#include "packhouse/packs.h"
#include "packhouse/plan.h"
#include "packhouse/plan_check.h"
#include "packhouse/policy.h"
#include "packhouse/spec.h"
#include "src/arrays.h"
#include "src/module.h"
#include "src/names.h"
#include "src/packs.h"
#include "src/status.h"

namespace nb = nanobind;

namespace packhouse {
namespace {

// Fields with the names that the command line has.
PackSpec MakeSpec(int64_t capacity_tokens, const std::string& algorithm,
                  int64_t window, int64_t max_sequences, int64_t alignment,
                  const std::string& overlong, const std::string& empty,
                  std::optional<uint64_t> seed, const std::string& effort,
                  int64_t max_displacement, double budget) {
  PackSpec spec;
  spec.capacity_tokens = capacity_tokens;
  spec.algorithm = algorithm;
  spec.window_sequences = window;
  spec.max_sequences_per_pack = max_sequences;
  spec.sequence_alignment = alignment;
  spec.overlong = ValueNamed<Overlong>("overlong", overlong, kOverlongNames);
  spec.empty = ValueNamed<Empty>("empty", empty, kEmptyNames);
  if (seed.has_value()) spec.seed = *seed;
  spec.effort = ValueNamed<Effort>("effort", effort, kEffortNames);
  spec.max_displacement = max_displacement;
  spec.budget_seconds = budget;
  ThrowUnlessOk(ValidateSpec(spec));
  return spec;
}

Packs FromPython(const ArrayIn<uint64_t>& ordinals,
                 const ArrayIn<uint64_t>& offsets,
                 const std::optional<ArrayIn<uint32_t>>& source_offsets) {
  Packs packs;
  packs.ordinals.assign(ordinals.data(), ordinals.data() + ordinals.size());
  packs.offsets.assign(offsets.data(), offsets.data() + offsets.size());
  if (source_offsets.has_value()) {
    packs.source_offsets.assign(
        source_offsets->data(),
        source_offsets->data() + source_offsets->size());
  }
  return packs;
}

nb::tuple PlanList(const ArrayIn<uint32_t>& lengths, const PackSpec& spec) {
  PlanNotes notes;
  absl::StatusOr<Packs> packs;
  {
    nb::gil_scoped_release release;
    packs = Plan(SpanOf(lengths), spec, &notes);
  }
  nb::dict said;
  said["lower_bound_packs"] = notes.lower_bound_packs;
  said["found_by"] = notes.found_by;
  said["lp_available"] = notes.lp_available;
  said["is_cut_short"] = notes.is_cut_short;
  return nb::make_tuple(ToPython(ValueOrThrow(std::move(packs))), said);
}

void VerifyPacks(const ArrayIn<uint32_t>& lengths, const PackSpec& spec,
                 const ArrayIn<uint64_t>& ordinals,
                 const ArrayIn<uint64_t>& offsets,
                 const std::optional<ArrayIn<uint32_t>>& source_offsets) {
  absl::Status status;
  {
    nb::gil_scoped_release release;
    status = Verify(SpanOf(lengths), spec,
                    FromPython(ordinals, offsets, source_offsets));
  }
  ThrowUnlessOk(status);
}

// The tokens of each unit; what cannot be of these lengths is refused.
ArrayOut<uint32_t> UnitLengths(
    const ArrayIn<uint32_t>& lengths, const PackSpec& spec,
    uint64_t first_ordinal, const ArrayIn<uint64_t>& ordinals,
    const std::optional<ArrayIn<uint32_t>>& source_offsets) {
  ThrowUnlessOk(CheckLengths(spec, SpanOf(lengths), first_ordinal));
  if (source_offsets.has_value() && source_offsets->size() != ordinals.size()) {
    Throw(absl::InvalidArgumentError(
        absl::StrCat("there are ", source_offsets->size(),
                     " source offsets for ", ordinals.size(), " ordinals")));
  }
  std::vector<uint32_t> tokens(ordinals.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const uint64_t ordinal = ordinals.data()[i];
    if (ordinal < first_ordinal || ordinal - first_ordinal >= lengths.size()) {
      Throw(absl::InvalidArgumentError(absl::StrCat(
          "the packs hold ordinal ", ordinal, ", there are lengths of ",
          lengths.size(), " from ordinal ", first_ordinal, " on")));
    }
    const uint32_t length = lengths.data()[ordinal - first_ordinal];
    const uint32_t offset =
        source_offsets.has_value() ? source_offsets->data()[i] : 0;
    if (offset >= length) {
      Throw(absl::InvalidArgumentError(
          absl::StrCat("the packs hold ordinal ", ordinal, " from token ",
                       offset, " on, it has ", length)));
    }
    tokens[i] = UnitTokens(spec, length, offset);
  }
  return ArrayOf(std::move(tokens));
}

// How many units come of each sequence; 0 where it is dropped.
ArrayOut<uint32_t> UnitCounts(const ArrayIn<uint32_t>& lengths,
                              const PackSpec& spec) {
  ThrowUnlessOk(CheckLengths(spec, SpanOf(lengths), 0));
  std::vector<uint32_t> counts;
  counts.reserve(lengths.size());
  for (const uint32_t length : SpanOf(lengths)) {
    counts.push_back(UnitCount(spec, length));
  }
  return ArrayOf(std::move(counts));
}

uint64_t LowerBound(const ArrayIn<uint32_t>& lengths, const PackSpec& spec) {
  absl::StatusOr<uint64_t> bound;
  {
    nb::gil_scoped_release release;
    bound = LowerBoundPacks(SpanOf(lengths), spec);
  }
  return ValueOrThrow(std::move(bound));
}

ArrayOut<double> CostsOfPacks(const ArrayIn<uint32_t>& lengths,
                              const ArrayIn<uint64_t>& offsets,
                              double per_token, double per_token_squared) {
  Packs packs;
  packs.offsets.assign(offsets.data(), offsets.data() + offsets.size());
  packs.ordinals.resize(lengths.size());  // how many there are is asked alone
  ThrowUnlessOk(CheckColumns(packs));
  return ArrayOf(ValueOrThrow(
      PackCosts(SpanOf(lengths), packs, {per_token, per_token_squared})));
}

ArrayOut<uint64_t> BalanceSteps(const ArrayIn<double>& costs, uint64_t ranks,
                                uint64_t look_ahead, uint64_t seed) {
  return ArrayOf(
      ValueOrThrow(Balance(SpanOf(costs), ranks, look_ahead, seed)).packs);
}

// A Packer that hands out what each call decided. Threads of Python take turns.
class PackerOfPython {
 public:
  explicit PackerOfPython(const PackSpec& spec)
      : packer_(ValueOrThrow(Packer::Create(spec))) {}
  PackerOfPython(const PackSpec& spec, const nb::bytes& state)
      : packer_(ValueOrThrow(Packer::Restore(
            spec, absl::string_view(state.c_str(), state.size())))) {}

  nb::tuple Add(const ArrayIn<uint32_t>& lengths) {
    return Take(
        [&](Packs* packs) { return packer_.Add(SpanOf(lengths), packs); });
  }
  nb::tuple Flush() {
    return Take([&](Packs* packs) { return packer_.Flush(packs); });
  }
  nb::tuple Finish() {
    return Take([&](Packs* packs) { return packer_.Finish(packs); });
  }
  nb::bytes Save() const {
    const std::string state =
        InTurn([](const Packer& packer) { return packer.Save(); });
    return nb::bytes(state.data(), state.size());
  }
  uint64_t sequences() const {
    return InTurn([](const Packer& packer) { return packer.sequences(); });
  }
  uint64_t pending_units() const {
    return InTurn([](const Packer& packer) { return packer.pending_units(); });
  }
  uint64_t oldest_pending_ordinal() const {
    return InTurn(
        [](const Packer& packer) { return packer.oldest_pending_ordinal(); });
  }

 private:
  // What `look` sees between two calls: one that runs has no GIL to stop it.
  template <typename Look>
  std::invoke_result_t<Look, const Packer&> InTurn(const Look& look) const {
    nb::gil_scoped_release release;
    const std::lock_guard<std::mutex> lock(*turn_);
    return look(packer_);
  }
  template <typename Call>
  nb::tuple Take(const Call& call) {
    Packs packs;
    absl::Status status;
    {
      nb::gil_scoped_release release;
      const std::lock_guard<std::mutex> lock(*turn_);
      status = call(&packs);
    }
    ThrowUnlessOk(status);
    return ToPython(std::move(packs));
  }

  Packer packer_;
  // Held without the GIL only; behind a pointer, so that objects can move.
  std::unique_ptr<std::mutex> turn_ = std::make_unique<std::mutex>();
};

}  // namespace

void AddPacking(nb::module_& module) {
  nb::class_<PackSpec>(module, "PackSpec")
      .def(
          "__init__",
          [](PackSpec* at, int64_t capacity_tokens,
             const std::string& algorithm, int64_t window,
             int64_t max_sequences, int64_t alignment,
             const std::string& overlong, const std::string& empty,
             std::optional<uint64_t> seed, const std::string& effort,
             int64_t max_displacement, double budget) {
            new (at) PackSpec(MakeSpec(
                capacity_tokens, algorithm, window, max_sequences, alignment,
                overlong, empty, seed, effort, max_displacement, budget));
          },
          nb::arg("capacity_tokens"), nb::arg("algorithm"), nb::arg("window"),
          nb::arg("max_sequences"), nb::arg("alignment"), nb::arg("overlong"),
          nb::arg("empty"), nb::arg("seed").none(), nb::arg("effort"),
          nb::arg("max_displacement"), nb::arg("budget"));
  module.def("algorithm_names", &AlgorithmNames);
  module.def("is_online",
             [](const std::string& name) { return IsOnline(name); });
  module.def("plan", &PlanList, nb::arg("lengths"), nb::arg("spec"));
  module.def("verify", &VerifyPacks, nb::arg("lengths"), nb::arg("spec"),
             nb::arg("ordinals"), nb::arg("offsets"),
             nb::arg("source_offsets").none());
  module.def("unit_lengths", &UnitLengths, nb::arg("lengths"), nb::arg("spec"),
             nb::arg("first_ordinal"), nb::arg("ordinals"),
             nb::arg("source_offsets").none());
  module.def("unit_counts", &UnitCounts, nb::arg("lengths"), nb::arg("spec"));
  module.def("pack_costs", &CostsOfPacks, nb::arg("lengths"),
             nb::arg("offsets"), nb::arg("per_token"),
             nb::arg("per_token_squared"));
  module.def("balance", &BalanceSteps, nb::arg("costs"), nb::arg("ranks"),
             nb::arg("look_ahead"), nb::arg("seed"));
  module.def("lower_bound_packs", &LowerBound, nb::arg("lengths"),
             nb::arg("spec"));

  nb::class_<PackerOfPython>(module, "Packer")
      .def(nb::init<const PackSpec&>(), nb::arg("spec"))
      .def(nb::init<const PackSpec&, const nb::bytes&>(), nb::arg("spec"),
           nb::arg("state"))
      .def("add", &PackerOfPython::Add, nb::arg("lengths"))
      .def("flush", &PackerOfPython::Flush)
      .def("finish", &PackerOfPython::Finish)
      .def("save", &PackerOfPython::Save)
      .def_prop_ro("sequences", &PackerOfPython::sequences)
      .def_prop_ro("pending_units", &PackerOfPython::pending_units)
      .def_prop_ro("oldest_pending_ordinal",
                   &PackerOfPython::oldest_pending_ordinal);
}

}  // namespace packhouse
