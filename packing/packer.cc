#include "packhouse/packer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "packing/intake.h"
#include "packing/rule.h"
#include "packing/seal.h"
#include "packing/state.h"

namespace packhouse {
namespace {

// A state is a version, the fingerprint of the spec, whether the packer was
// finished, the units taken; what Rule::Save and Intake::Save write; a
// checksum.
constexpr uint64_t kStateVersion = 1;

absl::Status AfterFinish() {
  return absl::FailedPreconditionError("the packer was finished before");
}

constexpr char kState[] = "the state of a packer";

absl::Status BadState(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(kState, " ", what));
}

uint64_t MaxBytes(const Rule& rule, const Intake& intake) {
  constexpr uint64_t kAnyNumber = ~uint64_t{0};
  return MaxNumberBytes(kStateVersion) + MaxNumberBytes(kAnyNumber) +
         /*finished*/ 1 + MaxNumberBytes(kMaxStreamCount) +
         rule.MaxStateBytes() + intake.MaxStateBytes() + kSealBytes;
}

std::vector<std::string> OnlineNames() {
  std::vector<std::string> names;
  for (const std::string& name : AlgorithmNames()) {
    if (IsOnline(name)) names.push_back(name);
  }
  return names;
}

}  // namespace

uint64_t MaxStateBytes(const PackSpec& spec) {
  return MaxBytes(*NewRule(spec), Intake(spec));
}

absl::StatusOr<Packer> Packer::Create(const PackSpec& spec) {
  if (absl::Status status = ValidateSpec(spec); !status.ok()) return status;
  if (!IsOnline(spec.algorithm)) {
    return absl::InvalidArgumentError(
        absl::StrCat("algorithm ", spec.algorithm,
                     " packs whole lists only; the ones for streams are ",
                     absl::StrJoin(OnlineNames(), ", ")));
  }
  return Packer(spec, NewRule(spec));
}

Packer::Packer(const PackSpec& spec, std::unique_ptr<Rule> rule)
    : spec_(spec),
      intake_(std::make_unique<Intake>(spec)),
      rule_(std::move(rule)) {}
Packer::Packer(Packer&&) noexcept = default;
Packer& Packer::operator=(Packer&&) noexcept = default;
Packer::~Packer() = default;

absl::StatusOr<Packer> Packer::Restore(const PackSpec& spec,
                                       absl::string_view state) {
  absl::StatusOr<Packer> packer = Create(spec);
  if (!packer.ok()) return packer;
  const uint64_t limit = MaxBytes(*packer->rule_, *packer->intake_);
  if (state.size() > limit) {
    return BadState(absl::StrCat(
        "has ", state.size(), " bytes, one of this spec has at most ", limit));
  }
  absl::StatusOr<StateReader> opened =
      OpenState(kState, kStateVersion, spec, state);
  if (!opened.ok()) return opened.status();
  StateReader& reader = *opened;
  packer->finished_ = reader.NumberUpTo(1) == 1;
  const uint64_t units = reader.Count();
  packer->rule_->Restore(units, &reader);
  if (packer->finished_ && packer->pending_units() > 0) reader.Fail();
  packer->intake_->Restore(units, packer->rule_->PendingNumbers(), &reader);
  if (!reader.AtEnd()) return BadState("contradicts itself");
  return packer;
}

std::string Packer::Save() const {
  StateWriter writer = BeginState(kStateVersion, spec_);
  writer.Number(finished_);
  writer.Number(intake_->units());
  rule_->Save(&writer);
  intake_->Save(rule_->PendingNumbers(), &writer);
  return SealState(std::move(writer).Take());
}

absl::Status Packer::Add(absl::Span<const uint32_t> lengths, Packs* packs) {
  if (finished_) return AfterFinish();
  if (absl::Status status = CheckLengths(spec_, lengths, sequences());
      !status.ok()) {
    return status;
  }
  const size_t first = packs->ordinals.size();
  intake_->Feed(lengths, [&](absl::Span<const uint32_t> footprints) {
    rule_->Add(footprints, packs);
  });
  Release(first, packs);
  return absl::OkStatus();
}

absl::Status Packer::Flush(Packs* packs) {
  if (finished_) return AfterFinish();
  const size_t first = packs->ordinals.size();
  rule_->Flush(packs);
  Release(first, packs);
  return absl::OkStatus();
}

absl::Status Packer::Finish(Packs* packs) {
  absl::Status status = Flush(packs);
  finished_ = true;
  return status;
}

void Packer::Release(size_t first, Packs* packs) {
  intake_->Rename(first, packs);
  intake_->Forget(rule_->oldest_pending());
}

uint64_t Packer::sequences() const { return intake_->sequences(); }

uint64_t Packer::pending_units() const { return rule_->pending(); }

uint64_t Packer::oldest_pending_ordinal() const {
  return intake_->OrdinalOf(rule_->oldest_pending());
}

}  // namespace packhouse
