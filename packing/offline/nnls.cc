#include "packing/offline/nnls.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace packhouse {
namespace {

// A column helps if its gradient is at least this share of the largest one at
// the start; below, it is rounding error.
constexpr double kTolerance = 1e-12;

// The least squares solution for some columns, which come and go: a QR
// factorisation, with the orthogonal matrix at hand in full, so that a column
// costs O(rows^2).
class LeastSquares {
 public:
  explicit LeastSquares(absl::Span<const double> b)
      : rows_(b.size()), qt_(rows_ * rows_), qtb_(b.begin(), b.end()) {
    for (size_t i = 0; i < rows_; ++i) qt_[i * rows_ + i] = 1;
  }

  // Adds a column behind the others. False, and nothing has changed, where it
  // depends on them.
  bool Add(const SparseColumn& column) {
    const size_t k = r_.size();
    if (k == rows_) return false;
    std::vector<double> v(rows_);
    double length = 0;
    for (const MatrixEntry& e : column) {
      length += e.value * e.value;
      for (size_t i = 0; i < rows_; ++i) {
        v[i] += qt_[i * rows_ + e.row] * e.value;
      }
    }
    // A Householder reflection of the rows from k on, which leaves nothing of
    // the column below row k.
    double below = 0;
    for (size_t i = k; i < rows_; ++i) below += v[i] * v[i];
    if (below <= kTolerance * length) return false;
    const double diagonal = v[k] > 0 ? -std::sqrt(below) : std::sqrt(below);
    v[k] -= diagonal;
    const double norm = below - diagonal * (v[k] + diagonal);  // |v|^2 / 2
    std::vector<double> products(rows_);
    double product_b = 0;
    for (size_t i = k; i < rows_; ++i) {
      product_b += v[i] * qtb_[i];
      const double* const row = &qt_[i * rows_];
      for (size_t j = 0; j < rows_; ++j) products[j] += v[i] * row[j];
    }
    for (size_t i = k; i < rows_; ++i) {
      const double factor = v[i] / norm;
      qtb_[i] -= factor * product_b;
      double* const row = &qt_[i * rows_];
      for (size_t j = 0; j < rows_; ++j) row[j] -= factor * products[j];
    }
    v[k] = diagonal;
    v.resize(k + 1);
    r_.push_back(std::move(v));
    return true;
  }

  // Removes the column with this number; those behind it move up.
  void Remove(size_t number) {
    r_.erase(r_.begin() + static_cast<std::ptrdiff_t>(number));
    for (size_t k = number; k < r_.size(); ++k) {
      // Column k has one entry too many, in row k + 1: rotate it into row k.
      const double a = r_[k][k];
      const double b = r_[k][k + 1];
      const double length = std::hypot(a, b);
      const double c = a / length;
      const double s = b / length;
      const auto rotate = [&](double* upper, double* lower) {
        const double u = *upper;
        *upper = c * u + s * *lower;
        *lower = c * *lower - s * u;
      };
      for (size_t j = k; j < r_.size(); ++j) rotate(&r_[j][k], &r_[j][k + 1]);
      for (size_t j = 0; j < rows_; ++j) {
        rotate(&qt_[k * rows_ + j], &qt_[(k + 1) * rows_ + j]);
      }
      rotate(&qtb_[k], &qtb_[k + 1]);
      r_[k].resize(k + 1);
    }
  }

  // The solution, by number of the column.
  std::vector<double> Solve() const {
    std::vector<double> x(
        qtb_.begin(), qtb_.begin() + static_cast<std::ptrdiff_t>(r_.size()));
    for (size_t k = r_.size(); k-- > 0;) {
      x[k] /= r_[k][k];
      for (size_t i = 0; i < k; ++i) x[i] -= r_[k][i] * x[k];
    }
    return x;
  }

 private:
  const size_t rows_;
  std::vector<double> qt_;              // Q transposed, row by row
  std::vector<double> qtb_;             // Q transposed times b
  std::vector<std::vector<double>> r_;  // columns of R, down to the diagonal
};

double Dot(const SparseColumn& column, absl::Span<const double> values) {
  double sum = 0;
  for (const MatrixEntry& e : column) sum += e.value * values[e.row];
  return sum;
}

}  // namespace

std::vector<double> NonNegativeLeastSquares(
    absl::Span<const SparseColumn> columns, absl::Span<const double> b) {
  std::vector<double> x(columns.size(), 0);
  LeastSquares least_squares(b);
  std::vector<size_t> active;  // columns in use, in the order of r_
  std::vector<bool> used(columns.size());
  std::vector<bool> refused(columns.size());  // since x last changed
  std::vector<double> residual(b.begin(), b.end());
  double threshold = 0;
  for (const SparseColumn& column : columns) {
    threshold = std::max(threshold, kTolerance * Dot(column, residual));
  }
  // Every change of x makes the residual smaller, so no set of columns comes
  // twice; the limit, as Lawson and Hanson have it, is for rounding errors.
  for (size_t left = 3 * columns.size(); left > 0; --left) {
    size_t best = columns.size();
    double steepest = threshold;
    for (size_t j = 0; j < columns.size(); ++j) {
      if (used[j] || refused[j]) continue;
      const double gradient = Dot(columns[j], residual);
      if (gradient > steepest) {
        steepest = gradient;
        best = j;
      }
    }
    if (best == columns.size()) break;
    refused[best] = true;
    if (!least_squares.Add(columns[best])) continue;
    std::vector<double> solution = least_squares.Solve();
    if (solution.back() <= 0) {
      least_squares.Remove(active.size());
      continue;
    }
    active.push_back(best);
    used[best] = true;
    refused.assign(columns.size(), false);
    while (true) {
      // Go towards the solution as far as no x becomes negative, and drop what
      // has become 0: at least the one that stopped it.
      double step = 1;
      size_t stopper = active.size();
      for (size_t k = 0; k < active.size(); ++k) {
        const double at = x[active[k]];
        if (solution[k] > 0 || at / (at - solution[k]) >= step) continue;
        step = at / (at - solution[k]);
        stopper = k;
      }
      for (size_t k = 0; k < active.size(); ++k) {
        double& at = x[active[k]];
        at = step == 1 ? solution[k] : at + step * (solution[k] - at);
      }
      if (stopper == active.size()) break;
      x[active[stopper]] = 0;
      for (size_t k = active.size(); k-- > 0;) {
        if (x[active[k]] > 0) continue;
        x[active[k]] = 0;
        used[active[k]] = false;
        active.erase(active.begin() + static_cast<std::ptrdiff_t>(k));
        least_squares.Remove(k);
      }
      solution = least_squares.Solve();
    }
    residual.assign(b.begin(), b.end());
    for (size_t j : active) {
      for (const MatrixEntry& e : columns[j]) residual[e.row] -= e.value * x[j];
    }
  }
  return x;
}

}  // namespace packhouse
