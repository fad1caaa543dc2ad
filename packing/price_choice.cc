#include "packing/price_choice.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace packhouse {
namespace {

__extension__ typedef unsigned __int128 Wide;

// Cells of the histogram: a footprint each up to here, so that the sums are
// exact for BERT's contexts; for longer ones 0.2 to 0.4 % of a pack each.
constexpr uint32_t kMaxCells = 512;

// Lambdas tried between a whole number of pieces and the next. 10 to 32 give
// the same packs within a few in ten thousand. Whole numbers are left out: such
// a price is all but volume.
constexpr uint64_t kLambdasPerPiece = 20;

// Pieces that a lambda cuts the capacity into, at most. Beyond 4 the price is
// close to plain volume. OfRoom relies on it.
constexpr uint64_t kMaxPieces = 4;

// Pieces are priced as soon as they see as much as the volume does, and with
// the same lambda until they see this much less: once the hard lengths are used
// up they should not gather anew at once. From 0.7 to 0.8 serve alike; at 0.9
// drifting input (azure) takes 0.7 % more packs.
constexpr double kLeave = 0.8;

// Then the history is halved, so that it follows a stream that changes and its
// counts stay small. From 2^13 to no end the packs are much the same at a
// window of 1024; with less, stretches that the window cannot see beyond would
// be forgotten.
constexpr uint64_t kMaxHistory = 1 << 14;

}  // namespace

// Doubles are used here for single divisions, products and comparisons only,
// all of which IEEE 754 defines to the bit.

PriceChoice::PriceChoice(const Units& units) : capacity_(units.capacity) {
  while ((capacity_ >> shift_) > kMaxCells) ++shift_;
  counts_.assign((capacity_ >> shift_) + 1, 0);
  history_.assign(counts_.size(), 0);
  min_sums_.assign(counts_.size() + 1, 0);
  for (uint64_t i = 1; i < (kMaxPieces - 1) * kLambdasPerPiece; ++i) {
    if (i % kLambdasPerPiece == 0) continue;
    const uint32_t lambda = static_cast<uint32_t>(capacity_ * kLambdasPerPiece /
                                                  (kLambdasPerPiece + i));
    const bool is_new = lambdas_.empty() || lambda < lambdas_.back();
    if (is_new && lambda > capacity_ / kMaxPieces &&
        capacity_ % std::max(lambda, 1u) != 0) {
      lambdas_.push_back(lambda);
    }
  }
}

bool PriceChoice::Knows(uint32_t lambda) const {
  return lambda == Price::kVolume ||
         std::binary_search(lambdas_.begin(), lambdas_.end(), lambda,
                            std::greater<uint32_t>());
}

void PriceChoice::Arrive(uint32_t footprint) {
  ++history_[footprint >> shift_];
  if (++history_size_ < kMaxHistory) return;
  history_size_ = 0;
  for (uint32_t& count : history_) {
    count /= 2;
    history_size_ += count;
  }
}

void PriceChoice::Restore(uint64_t taken, StateReader* reader) {
  history_ = reader->Numbers(counts_.size(), 0, kMaxHistory - 1);
  history_size_ = 0;
  for (uint32_t count : history_) history_size_ += count;
  const uint64_t most = std::min(taken, kMaxHistory - 1);
  if (history_.size() != counts_.size() || history_size_ > most) {
    reader->Fail();
  }
}

uint64_t PriceChoice::MaxStateBytes() const {
  return MaxNumbersBytes(counts_.size(), kMaxHistory - 1);
}

double PriceChoice::SumUp(bool with_history) {
  const auto count = [&](size_t cell) {
    return uint64_t{counts_[cell]} + (with_history ? history_[cell] : 0);
  };
  uint64_t above = with_history ? history_size_ : 0;
  for (uint32_t pending : counts_) above += pending;
  // A footprint is taken to be in the middle of its cell; doubled, that is a
  // whole number.
  const uint64_t width = uint64_t{1} << shift_;
  uint64_t below = 0;
  for (uint64_t cell = 0; cell < counts_.size(); ++cell) {
    min_sums_[cell] = below + above * 2 * cell * width;
    above -= count(cell);
    below += count(cell) * (2 * cell * width + width - 1);
  }
  min_sums_.back() = below;
  return static_cast<double>(below) / capacity_;
}

uint64_t PriceChoice::MinSum(uint32_t x) const {
  const uint32_t cell = x >> shift_;
  const uint32_t beyond = x - (cell << shift_);
  const Wide rise = min_sums_[cell + 1] - min_sums_[cell];
  return min_sums_[cell] + static_cast<uint64_t>((rise * beyond) >> shift_);
}

double PriceChoice::PacksNeeded(uint32_t lambda) const {
  const uint32_t pieces = capacity_ / lambda;
  const uint32_t rest = capacity_ % lambda;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < pieces; ++i) {
    sum += MinSum((i + 1) * lambda) - MinSum(i * lambda + rest);
  }
  return static_cast<double>(sum) /
         static_cast<double>(uint64_t{pieces} * (lambda - rest));
}

uint32_t PriceChoice::Choose(uint32_t current) {
  const double volume = SumUp(/*with_history=*/true);
  double most = 0;
  uint32_t best = Price::kVolume;
  for (uint32_t lambda : lambdas_) {
    const double needed = PacksNeeded(lambda);
    if (needed > most) {
      most = needed;
      best = lambda;
    }
  }
  if (most >= volume) return best;
  const bool stays =
      current != Price::kVolume && PacksNeeded(current) >= volume * kLeave;
  return stays ? current : Price::kVolume;
}

std::vector<uint32_t> PriceChoice::Best(size_t size) {
  SumUp(/*with_history=*/false);
  std::vector<std::pair<double, uint32_t>> ranked;
  for (uint32_t lambda : lambdas_) {
    ranked.emplace_back(PacksNeeded(lambda), lambda);
  }
  std::sort(ranked.rbegin(), ranked.rend());
  ranked.resize(std::min(ranked.size(), size));
  std::vector<uint32_t> best;
  for (const auto& entry : ranked) best.push_back(entry.second);
  return best;
}

}  // namespace packhouse
