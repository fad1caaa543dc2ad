#include "packing/pack_search.h"

#include <algorithm>

namespace packhouse {
namespace {

constexpr uint32_t kNone = PendingPool::kNone;

// A node costs about as much as looking at so many candidates.
constexpr int64_t kCandidatesPerNode = 8;

}  // namespace

void PackSearch::Push(uint32_t kind) {
  pool_.Hide(kind);
  pack_.push_back(kind);
  const uint32_t footprint = pool_.Footprint(kind);
  room_ -= footprint;
  --slots_;
  worth_ += price_->OfUnit(footprint);
}

void PackSearch::Pop() {
  const uint32_t kind = pack_.back();
  pool_.Show(kind);
  pack_.pop_back();
  const uint32_t footprint = pool_.Footprint(kind);
  room_ += footprint;
  ++slots_;
  worth_ -= price_->OfUnit(footprint);
}

uint64_t PackSearch::Bound() const {
  return worth_ + price_->OfRoom(room_) + price_->OfSlot() * slots_;
}

void PackSearch::Record() {
  if (worth_ <= best_) return;
  best_ = worth_;
  best_pack_ = pack_;
}

uint64_t PackSearch::Run(uint32_t anchor, const Price& price, Order order,
                         const Limits& limits) {
  price_ = &price;
  order_ = order;
  ++run_;
  candidates_.clear();
  unseen_ = limits.oldest;
  work_ = int64_t{limits.nodes} * kCandidatesPerNode;
  room_ = units_.capacity;
  slots_ = units_.max_sequences;
  worth_ = 0;
  best_ = 0;
  Push(anchor);
  cursor_ = order == Order::kOldestFirst ? pool_.oldest() : room_;
  if (order == Order::kOldestFirst && price.OfSlot() == 0) {
    FillRoughly(limits.to_choose);
  }
  enough_ = Bound() - std::min(Bound(), limits.good);
  Visit(0);
  PopTo(0);
  return price.OfPack() - best_;
}

void PackSearch::FillRoughly(uint64_t to_choose) {
  const uint64_t enough = to_choose * pool_.total();
  for (; cursor_ != kNone; cursor_ = pool_.Newer(cursor_)) {
    if (uint64_t{room_} * pool_.size() <= enough || slots_ == 0) return;
    const uint32_t kind = pool_.KindOf(cursor_);
    if (pool_.Footprint(kind) <= room_ && pool_.Visible(kind) > 0) Push(kind);
  }
}

void PackSearch::Close(uint32_t limit) {
  const size_t size = pack_.size();
  while (room_ > 0 && slots_ > 0) {
    const uint32_t kind = pool_.LongestWithin(std::min(limit, room_));
    if (kind == kNone) break;
    limit = pool_.Footprint(kind);
    Push(kind);
  }
  Record();
  PopTo(size);
}

void PackSearch::CloseEvenly() {
  const size_t size = pack_.size();
  uint32_t units = std::min(slots_, room_);  // to go for
  while (units > 0) {
    const uint32_t share = room_ / units;
    const uint32_t kind = share > 0 ? pool_.LongestWithin(share) : kNone;
    if (kind == kNone) {
      units -= units / 8 + 1;  // too many
    } else {
      Push(kind);
      --units;
    }
  }
  Close(room_);
  PopTo(size);
}

const PackSearch::Candidate* PackSearch::At(size_t index) {
  while (index == candidates_.size()) {
    uint32_t kind;
    if (order_ == Order::kOldestFirst) {
      if (cursor_ == kNone || unseen_ == 0) return nullptr;
      --unseen_;
      kind = pool_.KindOf(cursor_);
      cursor_ = pool_.Newer(cursor_);
      if (!pool_.Mark(kind, run_)) continue;
    } else {
      kind = cursor_ == 0 ? kNone : pool_.LongestWithin(cursor_);
      if (kind == kNone) return nullptr;
      cursor_ = pool_.Footprint(kind) - 1;
    }
    const uint32_t footprint = pool_.Footprint(kind);
    candidates_.push_back({kind, footprint, price_->OfUnit(footprint)});
  }
  return &candidates_[index];
}

void PackSearch::Visit(size_t first) {
  work_ -= kCandidatesPerNode;
  Close(room_);
  // What is no longer than the rest has no piece: the filler that is cheapest.
  if (price_->rest() > 0 && price_->rest() < room_ && !done()) {
    Close(price_->rest());
  }
  if (price_->OfSlot() > 0 && !done()) CloseEvenly();
  if (slots_ == 0) return;
  for (size_t i = first; !done(); ++i) {
    const Candidate* candidate = At(i);
    if (candidate == nullptr) return;
    --work_;
    const uint32_t footprint = candidate->footprint;
    const uint32_t kind = candidate->kind;
    if (footprint > room_ || pool_.Visible(kind) == 0) continue;
    const uint64_t bound = worth_ + candidate->price +
                           price_->OfRoom(room_ - footprint) +
                           price_->OfSlot() * (slots_ - 1);
    if (bound <= best_) continue;
    Push(kind);
    Visit(i);
    Pop();
  }
}

}  // namespace packhouse
