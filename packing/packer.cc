#include "packhouse/packer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "packing/rule.h"
#include "packing/units.h"

namespace packhouse {
namespace {

absl::Status AfterFinish() {
  return absl::FailedPreconditionError("the packer was finished before");
}

}  // namespace

absl::StatusOr<Packer> Packer::Create(const PackSpec& spec) {
  if (absl::Status status = ValidateSpec(spec); !status.ok()) return status;
  return Packer(spec, NewRule(spec));
}

Packer::Packer(const PackSpec& spec, std::unique_ptr<Rule> rule)
    : spec_(spec), rule_(std::move(rule)) {}
Packer::Packer(Packer&&) noexcept = default;
Packer& Packer::operator=(Packer&&) noexcept = default;
Packer::~Packer() = default;

absl::Status Packer::Add(absl::Span<const uint32_t> lengths, Packs* packs) {
  if (finished_) return AfterFinish();
  if (absl::Status status = CheckLengths(spec_, lengths, sequences_);
      !status.ok()) {
    return status;
  }
  sequences_ += lengths.size();
  if (spec_.sequence_alignment == 1) {
    rule_->Add(lengths, packs);
    return absl::OkStatus();
  }
  const Units units(spec_);
  std::array<uint32_t, 1024> footprints;
  while (!lengths.empty()) {
    const size_t n = std::min(lengths.size(), footprints.size());
    for (size_t i = 0; i < n; ++i) {
      footprints[i] = units.Footprint(lengths[i]);
    }
    rule_->Add(absl::MakeConstSpan(footprints.data(), n), packs);
    lengths.remove_prefix(n);
  }
  return absl::OkStatus();
}

absl::Status Packer::Flush(Packs* packs) {
  if (finished_) return AfterFinish();
  rule_->Flush(packs);
  return absl::OkStatus();
}

absl::Status Packer::Finish(Packs* packs) {
  absl::Status status = Flush(packs);
  finished_ = true;
  return status;
}

uint64_t Packer::pending_sequences() const { return rule_->pending(); }

absl::StatusOr<Packs> Plan(absl::Span<const uint32_t> lengths,
                           const PackSpec& spec) {
  absl::StatusOr<Packer> packer = Packer::Create(spec);
  if (!packer.ok()) return packer.status();
  Packs packs;
  if (absl::Status status = packer->Add(lengths, &packs); !status.ok()) {
    return status;
  }
  if (absl::Status status = packer->Finish(&packs); !status.ok()) {
    return status;
  }
  return packs;
}

}  // namespace packhouse
