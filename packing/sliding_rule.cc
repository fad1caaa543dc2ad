#include "packing/sliding_rule.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "packing/decreasing_rule.h"
#include "packing/pack_search.h"
#include "packing/pending_pool.h"
#include "packing/price.h"
#include "packing/price_choice.h"
#include "packing/slot_share.h"
#include "packing/units.h"

namespace packhouse {
namespace {

constexpr uint32_t kNone = PendingPool::kNone;

// What an effort tries. docs/sliding.md has what each number is worth.
struct Tuning {
  PackSearch::Limits search;
  bool longest;          // try the longest unit as an anchor
  bool history;          // choose the lambda by the history, too
  size_t oldest_kinds;   // tried as anchors where pieces are priced
  size_t final_lambdas;  // tried for the whole rest, beside the current one
};

Tuning TuningOf(Effort effort) {
  constexpr uint64_t kTenThousandth = Price::kOne / 10000;
  constexpr PackSearch::Limits kNarrow = {32, 32, 3, 5 * kTenThousandth};
  constexpr PackSearch::Limits kMiddle = {128, 32, 3, 2 * kTenThousandth};
  constexpr PackSearch::Limits kWide = {256, 64, 8, 2 * kTenThousandth};
  switch (effort) {
    case Effort::kFast:
      return {kNarrow, false, false, 1, 1};
    case Effort::kBalanced:
      return {kMiddle, true, true, 2, 4};
    case Effort::kThorough:
      break;
  }
  return {kWide, true, true, 4, 12};
}

// An anchor whose pack loses no more than this is taken at once. From a
// fiftieth to a thousandth the packs are the same within a few in ten thousand.
constexpr uint64_t kGoodAnchor = Price::kOne / 100;

// Prices are chosen anew this many times in a window.
constexpr uint32_t kChoicesPerWindow = 8;

class SlidingRule final : public Rule {
 public:
  explicit SlidingRule(const PackSpec& spec)
      : units_(spec),
        window_(static_cast<uint32_t>(spec.window_sequences)),
        max_age_(SlidingMaxAge(spec)),
        choose_every_(std::max(window_ / kChoicesPerWindow, 32u)),
        tuning_(TuningOf(spec.effort)),
        pool_(units_.capacity),
        choice_(units_),
        slot_share_(units_),
        price_(units_, Price::kVolume, slot_share_.value()),
        search_(units_, &pool_) {}

  void Add(absl::Span<const uint32_t> footprints, Packs* packs) override {
    for (const uint32_t footprint : footprints) AddOne(footprint, packs);
  }

  void Flush(Packs* packs) override;

  uint64_t pending() const override { return pool_.size(); }
  uint64_t oldest_pending() const override {
    return pool_.empty() ? next_ : pool_.Number(pool_.oldest());
  }

  std::vector<uint64_t> PendingNumbers() const override;

  void Save(StateWriter* writer) const override;
  void Restore(uint64_t taken, StateReader* reader) override;
  uint64_t MaxStateBytes() const override;

 private:
  struct Pending {
    uint64_t number;
    uint32_t footprint;
  };

  void AddOne(uint32_t footprint, Packs* packs);
  void Enter(const Pending& unit);
  void SetPrice(uint32_t lambda) {
    price_ = Price(units_, lambda, slot_share_.value());
  }
  bool OldestIsDue() const { return next_ - oldest_pending() >= max_age_; }

  // Releases one pack: the best around one of a few anchors.
  void Release(Packs* packs);
  void ReleaseAndAdjust(Packs* packs);
  void ReleaseLongest(Packs* packs);
  void Append(absl::Span<const uint32_t> kinds, Packs* packs);

  std::vector<Pending> AllPending() const;
  Packs FewestPacks(absl::Span<const Pending> pending);

  const Units units_;
  const uint32_t window_;
  const uint64_t max_age_;
  const uint32_t choose_every_;
  const Tuning tuning_;
  PendingPool pool_;
  PriceChoice choice_;
  SlotShare slot_share_;
  Price price_;
  PackSearch search_;
  uint64_t next_ = 0;  // number of the next unit

  // Scratch of Release: kinds.
  std::vector<uint32_t> best_;
  std::vector<uint32_t> tried_;
};

void SlidingRule::AddOne(uint32_t footprint, Packs* packs) {
  while (!pool_.empty() && next_ - oldest_pending() > max_age_) {
    ReleaseAndAdjust(packs);
  }
  if (footprint == units_.capacity) {
    // It can meet nobody, so it need not wait and take up the window.
    packs->ordinals.push_back(next_++);
    packs->offsets.push_back(packs->ordinals.size());
  } else {
    if (pool_.size() == window_) ReleaseAndAdjust(packs);
    Enter({next_++, footprint});
    slot_share_.Arrive(footprint);
    if (tuning_.history) choice_.Arrive(footprint);
  }
  if (next_ % choose_every_ == 0 && !pool_.empty()) {
    const uint32_t lambda = choice_.Choose(price_.lambda());
    if (lambda != price_.lambda()) SetPrice(lambda);
  }
}

void SlidingRule::Enter(const Pending& unit) {
  pool_.Add(unit.number, unit.footprint);
  choice_.Add(unit.footprint);
}

void SlidingRule::Release(Packs* packs) {
  uint64_t least = ~uint64_t{0};
  const auto try_anchor = [&](uint32_t kind) {
    const uint64_t loss = search_.Run(
        kind, price_, PackSearch::Order::kOldestFirst, tuning_.search);
    if (loss < least) {
      least = loss;
      best_.assign(search_.pack().begin(), search_.pack().end());
    }
    return least <= kGoodAnchor;
  };
  const bool by_volume = price_.lambda() == Price::kVolume;
  // With dear slots, the longest would be first to use up the short ones.
  const bool longest = tuning_.longest && !OldestIsDue() &&
                       !(by_volume && slot_share_.is_limited());
  size_t kinds = 1;
  if (!by_volume && !OldestIsDue()) kinds = tuning_.oldest_kinds;
  bool good = longest && try_anchor(pool_.LongestWithin(units_.capacity));
  // By volume almost all packs are full. Where one is not, the longest has to
  // go without company sooner or later: another anchor saves nothing.
  if (longest && by_volume) good = true;
  tried_.clear();
  for (uint32_t unit = pool_.oldest();
       !good && unit != kNone && tried_.size() < kinds;
       unit = pool_.Newer(unit)) {
    const uint32_t kind = pool_.KindOf(unit);
    if (std::find(tried_.begin(), tried_.end(), kind) != tried_.end()) continue;
    tried_.push_back(kind);
    good = try_anchor(kind);
  }
  Append(best_, packs);
}

void SlidingRule::ReleaseAndAdjust(Packs* packs) {
  Release(packs);
  if (slot_share_.Adjust(pool_.total(), pool_.size())) {
    SetPrice(price_.lambda());
  }
}

void SlidingRule::ReleaseLongest(Packs* packs) {
  search_.Run(pool_.LongestWithin(units_.capacity), price_,
              PackSearch::Order::kLongestFirst, tuning_.search);
  Append(search_.pack(), packs);
}

void SlidingRule::Append(absl::Span<const uint32_t> kinds, Packs* packs) {
  const size_t begin = packs->ordinals.size();
  for (const uint32_t kind : kinds) {
    choice_.Remove(pool_.Footprint(kind));
    packs->ordinals.push_back(pool_.Take(kind));
  }
  std::sort(packs->ordinals.begin() + begin, packs->ordinals.end());
  packs->offsets.push_back(packs->ordinals.size());
}

std::vector<SlidingRule::Pending> SlidingRule::AllPending() const {
  std::vector<Pending> all;
  all.reserve(pool_.size());
  for (uint32_t unit = pool_.oldest(); all.size() < pool_.size();
       unit = pool_.Newer(unit)) {
    all.push_back({pool_.Number(unit), pool_.Footprint(pool_.KindOf(unit))});
  }
  return all;
}

void SlidingRule::Flush(Packs* packs) {
  if (pool_.empty()) return;
  const uint32_t lambda = price_.lambda();
  const Packs fewest = FewestPacks(AllPending());
  SetPrice(lambda);

  std::vector<size_t> order(fewest.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return fewest[a].front() < fewest[b].front();
  });
  for (const size_t i : order) {
    packs->ordinals.insert(packs->ordinals.end(), fewest[i].begin(),
                           fewest[i].end());
    packs->offsets.push_back(packs->ordinals.size());
  }
}

Packs SlidingRule::FewestPacks(absl::Span<const Pending> pending) {
  // Best-fit decreasing first: no end is worse than that of `lpfhp`.
  PackSpec spec;
  spec.capacity_tokens = units_.capacity;
  spec.window_sequences = static_cast<int64_t>(pending.size());
  if (slot_share_.is_limited()) {
    spec.max_sequences_per_pack = units_.max_sequences;
  }
  std::vector<uint32_t> footprints;
  for (const Pending& unit : pending) footprints.push_back(unit.footprint);
  Packs fewest;
  NewDecreasingRule(spec, Prefer::kLeastRoom)->Add(footprints, &fewest);
  for (uint64_t& ordinal : fewest.ordinals) ordinal = pending[ordinal].number;

  const uint64_t bound =
      std::max((pool_.total() - 1) / units_.capacity,
               (uint64_t{pool_.size()} - 1) / units_.max_sequences) +
      1;
  std::vector<uint32_t> lambdas = choice_.Best(tuning_.final_lambdas);
  lambdas.push_back(Price::kVolume);
  lambdas.push_back(price_.lambda());
  for (const uint32_t lambda : lambdas) {
    for (const bool longest : {false, true}) {
      if (fewest.size() == bound) break;
      SetPrice(lambda);
      Packs plan;
      while (!pool_.empty()) longest ? ReleaseLongest(&plan) : Release(&plan);
      if (plan.size() < fewest.size()) fewest = std::move(plan);
      for (const Pending& unit : pending) Enter(unit);
    }
  }
  while (!pool_.empty()) {
    const uint32_t kind = pool_.KindOf(pool_.oldest());
    choice_.Remove(pool_.Footprint(kind));
    pool_.Take(kind);
  }
  return fewest;
}

std::vector<uint64_t> SlidingRule::PendingNumbers() const {
  std::vector<uint64_t> numbers;
  for (const Pending& unit : AllPending()) numbers.push_back(unit.number);
  return numbers;
}

void SlidingRule::Save(StateWriter* writer) const {
  // Numbers as differences to the one before: small.
  writer->Number(pool_.size());
  uint64_t after = 0;
  for (const Pending& unit : AllPending()) {
    writer->Number(unit.number - after);
    writer->Number(unit.footprint);
    after = unit.number + 1;
  }
  writer->Number(price_.lambda());
  slot_share_.Save(writer);
  if (tuning_.history) choice_.Save(writer);
}

void SlidingRule::Restore(uint64_t taken, StateReader* reader) {
  next_ = taken;
  const uint64_t size = reader->NumberUpTo(window_);
  uint64_t after = 0;
  for (uint64_t i = 0; i < size && reader->ok(); ++i) {
    const uint64_t skipped = reader->Number();
    const uint32_t footprint =
        static_cast<uint32_t>(reader->NumberUpTo(units_.capacity - 1));
    if (footprint == 0 || after >= next_ || skipped >= next_ - after) {
      reader->Fail();
    } else {
      Enter({after + skipped, footprint});
      after += skipped + 1;
    }
  }
  // The last that came did so when none was older than max_age_.
  if (next_ - oldest_pending() > max_age_ + 1) reader->Fail();

  const uint32_t lambda =
      static_cast<uint32_t>(reader->NumberUpTo(units_.capacity));
  if (!choice_.Knows(lambda)) reader->Fail();
  slot_share_.Restore(size, taken, reader);
  if (tuning_.history) choice_.Restore(taken, reader);
  if (reader->ok()) SetPrice(lambda);
}

uint64_t SlidingRule::MaxStateBytes() const {
  const uint64_t unit =
      MaxNumberBytes(max_age_) + MaxNumberBytes(units_.capacity);
  return MaxNumberBytes(window_) + MaxNumberBytes(kMaxStreamCount) +
         window_ * unit + MaxNumberBytes(units_.capacity) +
         slot_share_.MaxStateBytes() +
         (tuning_.history ? choice_.MaxStateBytes() : 0);
}

}  // namespace

uint64_t SlidingMaxAge(const PackSpec& spec) {
  constexpr int64_t kDefaultWindows = 4;
  return static_cast<uint64_t>(spec.max_displacement != 0
                                   ? spec.max_displacement
                                   : kDefaultWindows * spec.window_sequences);
}

std::unique_ptr<Rule> NewSlidingRule(const PackSpec& spec) {
  return std::make_unique<SlidingRule>(spec);
}

}  // namespace packhouse
