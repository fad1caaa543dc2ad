#include "packing/lp/master_lp.h"

namespace packhouse {

struct MasterLp::Solver {};

bool MasterLp::Available() { return false; }
MasterLp::MasterLp(absl::Span<const uint64_t>) {}
MasterLp::~MasterLp() = default;
void MasterLp::SetDemand(absl::Span<const uint64_t>) {}
void MasterLp::AddPatterns(absl::Span<const Pattern>) {}
bool MasterLp::Solve(const std::function<bool()>&) { return false; }
double MasterLp::packs() const { return 0; }
std::vector<double> MasterLp::Prices() const { return {}; }
std::vector<double> MasterLp::Uses() const { return {}; }

}  // namespace packhouse
