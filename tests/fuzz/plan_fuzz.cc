// Lengths by every rule for streams: the packs are legal, and the same in one
// call, in pieces and after a restore; those of the plain rules are the ones of
// the definition.

#include <set>

#include "packhouse/packer.h"
#include "packhouse/plan.h"
#include "packhouse/plan_check.h"
#include "tests/fuzz/fuzz.h"
#include "tests/packing/naive_packer.h"

namespace packhouse {
namespace {

void RequireOk(const absl::Status& status) {
  Require(status.ok(), status.ToString());
}

// In pieces as long as the bytes of `cuts` say, each of which may ask for a
// flush or a restore before it.
void CheckPieces(const PackSpec& spec, const Lengths& lengths, FuzzBytes cuts) {
  absl::StatusOr<Packer> packer = Packer::Create(spec);
  RequireOk(packer.status());
  Packs packs;
  std::set<size_t> flushes;
  for (size_t at = 0; at < lengths.size();) {
    const uint8_t cut = cuts.Byte();
    if (cut & 0x80) {
      packer = Packer::Restore(spec, packer->Save());
      RequireOk(packer.status());
    }
    if (cut & 0x40) {
      flushes.insert(at);
      RequireOk(packer->Flush(&packs));
      Require(packer->pending_units() == 0, "flushed, but pending");
    }
    const size_t n = std::min<size_t>(lengths.size() - at, (cut & 0x3f) + 1);
    RequireOk(packer->Add(absl::MakeConstSpan(lengths).subspan(at, n), &packs));
    at += n;
  }
  RequireOk(packer->Finish(&packs));
  RequireOk(Verify(lengths, spec, packs));
  if (flushes.empty()) Require(packs == *Plan(lengths, spec), "cuts matter");
  const bool is_plain = spec.algorithm == "spfhp" || spec.algorithm == "lpfhp";
  if (is_plain && !spec.seed.has_value()) {
    Require(packs == NaivePlan(lengths, spec, flushes), "not the definition");
  }
}

}  // namespace
}  // namespace packhouse

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace packhouse;
  FuzzBytes bytes(data, size);
  PackSpec spec = TakeSpec(&bytes);
  const Lengths lengths = TakeLengths(spec, 255, &bytes);
  for (const std::string& rule : AlgorithmNames()) {
    if (!IsOnline(rule)) continue;
    spec.algorithm = rule;
    if (rule == "sliding") {
      spec.seed.reset();
    } else {
      spec.effort = Effort::kBalanced;
      spec.max_displacement = 0;
    }
    CheckPieces(spec, lengths, bytes);
  }
  return 0;
}
