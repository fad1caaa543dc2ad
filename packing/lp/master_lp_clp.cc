#include "ClpEventHandler.hpp"
#include "ClpSimplex.hpp"
#include "CoinPackedMatrix.hpp"
#include "packing/lp/master_lp.h"

namespace packhouse {
namespace {

// Stops the simplex method when time is up. It is asked whenever a basis is
// factorised, every few milliseconds.
class StopInTime final : public ClpEventHandler {
 public:
  explicit StopInTime(const std::function<bool()>* out_of_time)
      : out_of_time_(out_of_time) {}

  int event(Event event) override {
    constexpr int kGoOn = -1;
    constexpr int kStop = 5;
    return event == endOfFactorization && (*out_of_time_)() ? kStop : kGoOn;
  }

  ClpEventHandler* clone() const override { return new StopInTime(*this); }

 private:
  const std::function<bool()>* out_of_time_;
};

}  // namespace

struct MasterLp::Solver {
  ClpSimplex simplex;
  size_t lengths = 0;
  bool new_columns = true;  // since the last solution, not a new demand
};

bool MasterLp::Available() { return true; }

MasterLp::MasterLp(absl::Span<const uint64_t> demand)
    : solver_(std::make_unique<Solver>()) {
  solver_->lengths = demand.size();
  const int rows = static_cast<int>(demand.size());
  CoinPackedMatrix exchanges;
  exchanges.setDimensions(rows, 0);
  for (int row = 0; row + 1 < rows; ++row) {
    const int at[] = {row, row + 1};
    const double change[] = {1, -1};
    exchanges.appendCol(2, at, change);
  }
  const std::vector<double> needed(demand.begin(), demand.end());
  solver_->simplex.setLogLevel(0);
  // Counts are small integers: scaling them costs a fifth of the time.
  solver_->simplex.scaling(0);
  solver_->simplex.loadProblem(exchanges, nullptr, nullptr, nullptr,
                               needed.data(), nullptr);
}

MasterLp::~MasterLp() = default;

void MasterLp::SetDemand(absl::Span<const uint64_t> demand) {
  for (size_t i = 0; i < demand.size(); ++i) {
    const int row = static_cast<int>(i);
    solver_->simplex.setRowBounds(row, static_cast<double>(demand[i]),
                                  COIN_DBL_MAX);
  }
  solver_->new_columns = false;
}

void MasterLp::AddPatterns(absl::Span<const Pattern> patterns) {
  std::vector<int> begins = {0};
  std::vector<int> rows;
  std::vector<double> counts;
  for (const Pattern& pattern : patterns) {
    for (const IndexCount& c : pattern) {
      rows.push_back(static_cast<int>(c.index));
      counts.push_back(c.count);
    }
    begins.push_back(static_cast<int>(rows.size()));
  }
  const std::vector<double> cost(patterns.size(), 1);
  solver_->simplex.addColumns(static_cast<int>(patterns.size()), nullptr,
                              nullptr, cost.data(), begins.data(), rows.data(),
                              counts.data());
  solver_->new_columns = true;
}

bool MasterLp::Solve(const std::function<bool()>& out_of_time) {
  ClpSimplex& simplex = solver_->simplex;
  const StopInTime stop(&out_of_time);
  simplex.passInEventHandler(&stop);
  if (solver_->new_columns) {
    simplex.primal();
  } else {
    simplex.dual();
  }
  constexpr int kOptimal = 0;
  return simplex.status() == kOptimal;
}

double MasterLp::packs() const { return solver_->simplex.objectiveValue(); }

std::vector<double> MasterLp::Prices() const {
  const double* const prices = solver_->simplex.dualRowSolution();
  return std::vector<double>(prices, prices + solver_->lengths);
}

std::vector<double> MasterLp::Uses() const {
  const ClpSimplex& simplex = solver_->simplex;
  const double* const uses = simplex.primalColumnSolution();
  const size_t exchanges = solver_->lengths == 0 ? 0 : solver_->lengths - 1;
  return std::vector<double>(uses + exchanges, uses + simplex.numberColumns());
}

}  // namespace packhouse
