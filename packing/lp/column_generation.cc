#include "packing/lp/column_generation.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "packing/lp/master_lp.h"
#include "packing/lp/pricing.h"

namespace packhouse {
namespace {

__extension__ typedef unsigned __int128 Wide;

using OutOfTime = std::function<bool()>;

// What the solver's rounding errors stay below, in packs and prices.
constexpr double kTolerance = 1e-6;

// The next finer level has so many times the classes; the coarsest has no more
// than kFewClasses, which solve at once.
constexpr size_t kRefinement = 4;
constexpr size_t kFewClasses = 100;

// A level that is not the last need not be solved to the end: at a tenth of a
// percent its patterns are good enough to start from.
constexpr double kCoarseGap = 0.001;

// A round of pricing takes this many steps at most, which is 30 ms and 64 MB.
constexpr double kMaxPricingSteps = 1 << 26;

// Few new patterns a round, relative to the classes: four times as many make
// the solver, where most of the time goes, slower by more than they save.
constexpr size_t kMinPatterns = 20;
constexpr size_t kClassesPerPattern = 20;

// Prices swing from round to round. New packs are priced at these, with a share
// of the prices of the best bound so far (Pessoa et al., "Automation and
// combination of linear-programming based stabilization techniques in column
// generation", 2018); a third to two thirds of the rounds is saved.
constexpr double kSmoothing = 0.3;

// Of the packs that a solution uses less than once, this share is taken at a
// time before the rest is solved again, and all that it nearly uses whole.
constexpr double kFixedShare = 0.1;
constexpr double kNearlyWhole = 0.8;

// Rounds of pricing after each such step; more do not pay.
constexpr int kRoundsPerStep = 1;

uint64_t CeilOf(double packs) {
  return static_cast<uint64_t>(std::ceil(packs - kTolerance));
}

// Classes of neighbouring lengths, as the index of the longest length of each.
using Tops = std::vector<size_t>;

// Joins neighbouring classes to about 1 / kRefinement of them, with about equal
// shares of the volume.
Tops Join(const Tops& tops, absl::Span<const FootprintCount> counts) {
  double volume = 0;
  for (const FootprintCount& c : counts) {
    volume += static_cast<double>(c.count) * c.footprint;
  }
  const double target = volume * kRefinement / static_cast<double>(tops.size());
  Tops joined;
  double share = 0;
  size_t i = 0;
  for (size_t top : tops) {
    for (; i <= top; ++i) {
      share += static_cast<double>(counts[i].count) * counts[i].footprint;
    }
    if (share < target && top != tops.back()) continue;
    joined.push_back(top);
    share = 0;
  }
  return joined;
}

// From few classes to every length by itself; each level refines the one before
// it.
std::vector<Tops> Levels(absl::Span<const FootprintCount> counts) {
  Tops tops(counts.size());
  std::iota(tops.begin(), tops.end(), size_t{0});
  std::vector<Tops> levels = {tops};
  while (levels.back().size() > kFewClasses) {
    levels.push_back(Join(levels.back(), counts));
  }
  std::reverse(levels.begin(), levels.end());
  return levels;
}

// Column generation over classes of neighbouring lengths. Patterns are made of
// classes; whole packs are made of units, each in a slot that is at least as
// long.
class Level {
 public:
  Level(absl::Span<const FootprintCount> counts, Tops tops, uint32_t capacity,
        uint32_t max_units, const OutOfTime& out_of_time)
      : counts_(counts),
        tops_(std::move(tops)),
        footprints_(TopFootprints()),
        capacity_(capacity),
        max_units_(max_units),
        out_of_time_(out_of_time),
        pricing_(footprints_, capacity, max_units),
        demand_(Demand(Left())),
        master_(demand_) {
    std::vector<Pattern> singles;
    for (uint32_t i = 0; i < tops_.size(); ++i) singles.push_back({{i, 1}});
    AddPatterns(std::move(singles));
  }

  size_t classes() const { return tops_.size(); }

  // Whether every length is a class of its own.
  bool is_exact() const { return tops_.size() == counts_.size(); }

  bool CanPrice() const { return pricing_.Steps(demand_) <= kMaxPricingSteps; }

  uint64_t lower_bound() const { return lower_bound_; }

  // The patterns that the solution uses, made of lengths instead of classes.
  std::vector<Pattern> Used() const {
    std::vector<Pattern> used;
    for (size_t p = 0; p < uses_.size(); ++p) {
      if (uses_[p] < kTolerance) continue;
      used.push_back(patterns_[p]);
      for (IndexCount& slot : used.back()) {
        slot.index = static_cast<uint32_t>(tops_[slot.index]);
      }
    }
    return used;
  }

  // Starts from what a coarser level used: every top of its classes is one here
  // too.
  void StartFrom(std::vector<Pattern> used) {
    for (Pattern& pattern : used) {
      for (IndexCount& slot : pattern) {
        slot.index = static_cast<uint32_t>(
            std::lower_bound(tops_.begin(), tops_.end(), slot.index) -
            tops_.begin());
      }
    }
    AddPatterns(std::move(used));
  }

  // Solves the program as far as it matters: until the solution, rounded up, is
  // no more than its bound or `enough`, which is one too; on a level that is
  // not exact until it is close. False where time was too short.
  bool Relax(uint64_t enough) {
    double best_bound = 0;
    std::vector<double> center;  // the prices of the best bound
    while (Solve()) {
      const std::vector<double> prices = master_.Prices();
      double smoothing = center.empty() ? 0 : kSmoothing;
      while (true) {
        std::vector<double> smooth = prices;
        for (size_t i = 0; smoothing > 0 && i < prices.size(); ++i) {
          smooth[i] = smoothing * center[i] + (1 - smoothing) * prices[i];
        }
        const Offer offer = Price(smooth);
        RaiseBound(offer);
        const double bound = Bound(offer);
        if (bound > best_bound) {
          best_bound = bound;
          center = std::move(smooth);
        }
        if (is_exact()
                ? std::max(enough, lower_bound_) >= CeilOf(master_.packs())
                : best_bound >= (1 - kCoarseGap) * master_.packs()) {
          return true;
        }
        if (out_of_time_()) return false;
        if (AddColumns(offer, prices)) break;
        // Packs that look good only at the smoothed prices.
        if (smoothing == 0) return true;
        smoothing = smoothing < kSmoothing ? 0 : smoothing / 2;
      }
    }
    return false;
  }

  // Whether there is a solution, of the program with the patterns so far.
  bool solved() const { return !uses_.empty(); }

  // Makes whole packs of the solution, as far as time suffices.
  FootprintGroups Round(uint64_t enough, const PackUnits& pack_rest) {
    FootprintGroups best;
    uint64_t best_packs = ~uint64_t{0};
    FootprintGroups fixed;
    left_ = Left();
    while (true) {
      const std::vector<FootprintCount> rest = Rest();
      FootprintGroups others = pack_rest(rest);
      const uint64_t packs = CountPacks(fixed) + CountPacks(others);
      if (packs < best_packs) {
        best_packs = packs;
        best = fixed;
        std::move(others.begin(), others.end(), std::back_inserter(best));
      }
      if (rest.empty() || best_packs <= enough) break;
      if (!fixed.empty() && !SolveRest()) break;
      const size_t groups = fixed.size();
      Fix(&fixed);
      if (fixed.size() == groups) break;  // only rounding errors are left
    }
    return best;
  }

 private:
  // Prices in integers, and the value of the best pack at them.
  struct Offer {
    std::vector<int32_t> prices;
    double one;  // what a price of 1 became
    int32_t best;
  };

  std::vector<uint32_t> TopFootprints() const {
    std::vector<uint32_t> footprints;
    for (size_t top : tops_) footprints.push_back(counts_[top].footprint);
    return footprints;
  }

  std::vector<uint64_t> Left() const {
    std::vector<uint64_t> left;
    for (const FootprintCount& c : counts_) left.push_back(c.count);
    return left;
  }

  std::vector<FootprintCount> Rest() const {
    std::vector<FootprintCount> rest;
    for (size_t i = 0; i < left_.size(); ++i) {
      if (left_[i] > 0) rest.push_back({counts_[i].footprint, left_[i]});
    }
    return rest;
  }

  // Units of each class.
  std::vector<uint64_t> Demand(absl::Span<const uint64_t> left) const {
    std::vector<uint64_t> demand;
    size_t i = 0;
    for (size_t top : tops_) {
      uint64_t units = 0;
      for (; i <= top; ++i) units += left[i];
      demand.push_back(units);
    }
    return demand;
  }

  void AddPatterns(std::vector<Pattern> patterns) {
    master_.AddPatterns(patterns);
    std::move(patterns.begin(), patterns.end(), std::back_inserter(patterns_));
  }

  bool Solve() {
    if (!master_.Solve(out_of_time_)) return false;
    uses_ = master_.Uses();
    return true;
  }

  Offer Price(absl::Span<const double> prices) {
    // No pack is worth more than `limit`, so that all values stay below 2^31.
    double all = 0;
    double dearest = 0;
    double densest = 0;
    for (size_t i = 0; i < prices.size(); ++i) {
      if (demand_[i] == 0) continue;
      all += prices[i] * static_cast<double>(demand_[i]);
      dearest = std::max(dearest, prices[i]);
      densest = std::max(densest, prices[i] / footprints_[i]);
    }
    const double limit = std::max(
        kTolerance, std::min({all, dearest * max_units_, densest * capacity_}));
    Offer offer;
    offer.one = 0x1p30 / limit;
    for (size_t i = 0; i < prices.size(); ++i) {
      const bool is_priced = demand_[i] > 0 && prices[i] > 0;
      offer.prices.push_back(
          is_priced ? static_cast<int32_t>(prices[i] * offer.one) : 0);
    }
    offer.best = pricing_.Solve(offer.prices, demand_);
    return offer;
  }

  double Bound(const Offer& offer) const {
    double all = 0;
    for (size_t i = 0; i < demand_.size(); ++i) {
      all += static_cast<double>(demand_[i]) * offer.prices[i];
    }
    return all / std::max(1, offer.best);
  }

  // No pack is worth more than the best, so the worth of all units, divided by
  // that and rounded up, is how many packs they need.
  void RaiseBound(const Offer& offer) {
    if (!is_exact() || offer.best == 0) return;
    Wide all = 0;
    for (size_t i = 0; i < demand_.size(); ++i) {
      all += Wide{demand_[i]} * static_cast<uint32_t>(offer.prices[i]);
    }
    const Wide best = static_cast<uint32_t>(offer.best);
    lower_bound_ =
        std::max(lower_bound_, static_cast<uint64_t>((all + best - 1) / best));
  }

  // Adds packs on offer that gain at `prices`; false where there are none.
  bool AddColumns(const Offer& offer, absl::Span<const double> prices) {
    const double one = std::min(offer.one, 0x1p30);
    std::vector<Pattern> patterns =
        pricing_.Best(static_cast<int32_t>(one),
                      kMinPatterns + classes() / kClassesPerPattern);
    const auto is_no_gain = [&](const Pattern& pattern) {
      double value = 0;
      for (const IndexCount& c : pattern) value += prices[c.index] * c.count;
      return value <= 1 + kTolerance;
    };
    patterns.erase(std::remove_if(patterns.begin(), patterns.end(), is_no_gain),
                   patterns.end());
    if (patterns.empty()) return false;
    AddPatterns(std::move(patterns));
    return true;
  }

  // Solves the program for the units that are left, with some new patterns.
  bool SolveRest() {
    demand_ = Demand(left_);
    master_.SetDemand(demand_);
    for (int round = 0; Solve(); ++round) {
      if (round == kRoundsPerStep || out_of_time_()) return true;
      const std::vector<double> prices = master_.Prices();
      if (!AddColumns(Price(prices), prices)) return true;
    }
    return false;
  }

  // Makes some of the solution's packs.
  void Fix(FootprintGroups* fixed) {
    std::vector<std::pair<double, size_t>> used;
    double all = 0;
    for (size_t p = 0; p < uses_.size(); ++p) {
      if (uses_[p] <= kTolerance) continue;
      used.emplace_back(uses_[p], p);
      all += uses_[p];
    }
    std::stable_sort(
        used.begin(), used.end(),
        [](const auto& a, const auto& b) { return a.first > b.first; });
    const bool is_whole = !used.empty() && used.front().first >= 1 - kTolerance;
    const double share = std::max(1.0, all * kFixedShare);
    double packs = 0;
    for (const auto& [use, p] : used) {
      if (is_whole ? use < 1 - kTolerance
                   : packs >= share && use < kNearlyWhole) {
        return;
      }
      Make(patterns_[p], is_whole ? static_cast<uint64_t>(use + kTolerance) : 1,
           fixed);
      ++packs;
    }
  }

  // Makes `times` packs of a pattern, or as many as there are units for.
  void Make(const Pattern& pattern, uint64_t times, FootprintGroups* fixed) {
    while (times > 0) {
      const std::vector<std::pair<size_t, uint64_t>> pack = FillSlots(pattern);
      if (pack.empty()) return;
      FootprintGroup group;
      group.count = times;
      for (const auto& [i, copies] : pack) {
        group.count = std::min(group.count, left_[i] / copies);
        group.footprints.push_back({counts_[i].footprint, copies});
      }
      for (const auto& [i, copies] : pack) left_[i] -= group.count * copies;
      times -= group.count;
      fixed->push_back(std::move(group));
    }
  }

  // The units of one pack, by descending length: in its slots the longest that
  // are left for them. Only the shortest slot of several takes the longest unit
  // that fits the room, and so do further ones: that wins back what is lost
  // where a unit is shorter than its slot.
  std::vector<std::pair<size_t, uint64_t>> FillSlots(
      const Pattern& pattern) const {
    std::vector<std::pair<size_t, uint64_t>> pack;
    uint64_t slots = 0;  // long enough for the next unit, and empty
    uint64_t room = capacity_;
    uint64_t free = max_units_;
    const auto take = [&](size_t i, uint64_t most, uint64_t there) {
      const uint64_t copies =
          std::min({most, left_[i] - there, free, room / counts_[i].footprint});
      free -= copies;
      room -= copies * counts_[i].footprint;
      return copies;
    };
    uint64_t reserved = 0;
    for (const IndexCount& c : pattern) reserved += c.count;
    if (reserved > 1) --reserved;
    auto slot = pattern.begin();
    for (size_t i = counts_.size(); i-- > 0 && reserved > 0;) {
      for (; slot != pattern.end() && tops_[slot->index] >= i; ++slot) {
        slots += slot->count;
      }
      if (slots == 0 || left_[i] == 0) continue;
      const uint64_t copies = take(i, std::min(slots, reserved), 0);
      slots -= copies;
      reserved -= copies;
      if (copies > 0) pack.emplace_back(i, copies);
    }
    auto place = pack.begin();
    for (size_t i = counts_.size(); i-- > 0 && free > 0;) {
      while (place != pack.end() && place->first > i) ++place;
      if (left_[i] == 0 || counts_[i].footprint > room) continue;
      const bool is_there = place != pack.end() && place->first == i;
      const uint64_t copies = take(i, free, is_there ? place->second : 0);
      if (copies == 0) continue;
      if (is_there) {
        place->second += copies;
      } else {
        place = pack.insert(place, {i, copies});
      }
    }
    return pack;
  }

  const absl::Span<const FootprintCount> counts_;
  const Tops tops_;
  const std::vector<uint32_t> footprints_;  // of the tops
  const uint32_t capacity_;
  const uint32_t max_units_;
  const OutOfTime& out_of_time_;
  Pricing pricing_;
  std::vector<uint64_t> demand_;  // by class, of what is to be packed now
  MasterLp master_;
  std::vector<Pattern> patterns_;  // the columns of the master
  std::vector<double> uses_;       // of the patterns, in the last solution
  std::vector<uint64_t> left_;     // units not in packs yet, while rounding
  uint64_t lower_bound_ = 0;
};

}  // namespace

bool LpAvailable() { return MasterLp::Available(); }

LpPlan PackByColumns(absl::Span<const FootprintCount> counts, uint32_t capacity,
                     uint32_t max_units, uint64_t enough,
                     const PackUnits& pack_rest, const SpentTime& spent) {
  LpPlan plan;
  uint64_t packs = ~uint64_t{0};
  double share = 0;  // of the time, until which something may run
  const OutOfTime out_of_time = [&] {
    const bool is_up = spent() >= share;
    plan.is_cut_short |= is_up;
    return is_up;
  };
  std::vector<Pattern> used;  // on the level before
  for (Tops& tops : Levels(counts)) {
    Level level(counts, std::move(tops), capacity, max_units, out_of_time);
    if (!level.CanPrice()) break;
    level.StartFrom(std::move(used));
    share = (1 + spent()) / 2;
    level.Relax(enough);
    if (!level.solved()) break;
    used = level.Used();
    plan.lower_bound_packs = level.lower_bound();
    enough = std::max(enough, plan.lower_bound_packs);
    share = 1;
    FootprintGroups groups = level.Round(enough, pack_rest);
    if (CountPacks(groups) < packs) {
      packs = CountPacks(groups);
      plan.groups = std::move(groups);
    }
    if (packs <= enough || level.is_exact() || out_of_time()) break;
  }
  return plan;
}

}  // namespace packhouse
