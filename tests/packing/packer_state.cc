#include "tests/packing/packer_state.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "packhouse/packer.h"

namespace packhouse {
namespace {

// What a spec decides about the layout.
struct Layout {
  explicit Layout(const PackSpec& spec)
      : sliding(spec.algorithm == "sliding"),
        slots(spec.max_sequences_per_pack != 0 &&
              spec.max_sequences_per_pack <
                  spec.capacity_tokens / spec.sequence_alignment),
        history(spec.effort != Effort::kFast),
        cuts(spec.overlong == Overlong::kSplit ||
             spec.overlong == Overlong::kTruncateHead),
        ordinals(cuts || spec.overlong == Overlong::kDrop ||
                 spec.empty == Empty::kDrop) {}

  const bool sliding;
  const bool slots;
  const bool history;
  const bool cuts;
  const bool ordinals;
};

void Write(uint64_t value, std::string* bytes) {
  for (; value >= 128; value /= 128) {
    bytes->push_back(static_cast<char>(128 + value % 128));
  }
  bytes->push_back(static_cast<char>(value));
}

uint64_t Read(absl::string_view* bytes) {
  uint64_t value = 0;
  for (uint64_t place = 1; !bytes->empty(); place *= 128) {
    const uint64_t byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    value += byte % 128 * place;
    if (byte < 128) break;
  }
  return value;
}

absl::Status Broken(absl::string_view what) {
  return absl::InternalError(what);
}

uint64_t MaxAge(const PackSpec& spec) {
  return spec.max_displacement > 0
             ? static_cast<uint64_t>(spec.max_displacement)
             : 4 * static_cast<uint64_t>(spec.window_sequences);
}

// The units that a packer has to give back, and the check that it does.
class Waiting {
 public:
  Waiting(const PackSpec& spec, const PackerState& state)
      : spec_(spec), units_(state.units) {
    const uint64_t longest = LongestPiece(spec);
    for (const PackerState::Unit& unit : state.pending) {
      const uint64_t offset =
          unit.cut * (spec.overlong == Overlong::kSplit ? longest : 1);
      waiting_[{unit.ordinal, offset}] = {unit.number, unit.footprint};
    }
  }

  size_t size() const { return waiting_.size(); }

  void Arrive(uint64_t ordinal, uint32_t length) {
    for (const NaiveUnit& unit : NaiveUnits({length}, spec_)) {
      const uint64_t footprint =
          (unit.tokens - 1) / spec_.sequence_alignment + 1;
      waiting_[{ordinal, static_cast<uint64_t>(unit.source_offset)}] = {
          units_++, footprint};
    }
  }

  // `before`: units that had come before those that made these packs leave.
  absl::Status Leave(const Packs& packs, uint64_t before) {
    for (size_t p = 0; p < packs.size(); ++p) {
      if (absl::Status s = LeavePack(packs, p, before); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  uint64_t units() const { return units_; }

 private:
  struct Unit {
    uint64_t number;
    uint64_t footprint;
  };

  absl::Status LeavePack(const Packs& packs, size_t p, uint64_t before) {
    const uint64_t count = packs.offsets[p + 1] - packs.offsets[p];
    const uint64_t most = static_cast<uint64_t>(spec_.max_sequences_per_pack);
    if (count == 0) return Broken("an empty pack");
    if (most > 0 && count > most) return Broken("a pack of too many");
    uint64_t sum = 0;
    std::pair<uint64_t, uint64_t> last;
    for (uint64_t i = packs.offsets[p]; i < packs.offsets[p + 1]; ++i) {
      const std::pair<uint64_t, uint64_t> place = {packs.ordinals[i],
                                                   packs.source_offset(i)};
      if (i > packs.offsets[p] && place <= last) return Broken("the order");
      last = place;
      const auto unit = waiting_.find(place);
      if (unit == waiting_.end()) {
        return Broken(absl::StrCat("ordinal ", place.first, " at ",
                                   place.second, " was not waiting"));
      }
      sum += unit->second.footprint;
      if (spec_.algorithm == "sliding" && unit->second.number < before &&
          before - unit->second.number > MaxAge(spec_) + 1) {
        return Broken(absl::StrCat("ordinal ", place.first, " waited for ",
                                   before - unit->second.number));
      }
      waiting_.erase(unit);
    }
    if (sum > static_cast<uint64_t>(spec_.capacity_tokens /
                                    spec_.sequence_alignment)) {
      return Broken(absl::StrCat("a pack of ", sum));
    }
    return absl::OkStatus();
  }

  const PackSpec spec_;
  uint64_t units_;
  std::map<std::pair<uint64_t, uint64_t>, Unit> waiting_;
};

}  // namespace

std::string Encode(const PackSpec& spec, const PackerState& state) {
  const Layout layout(spec);
  std::string bytes;
  const auto write = [&](uint64_t value) { Write(value, &bytes); };
  write(state.version);
  write(state.fingerprint);
  write(state.finished);
  write(state.units);
  if (!layout.sliding) write(state.windows);
  write(state.pending.size());
  uint64_t next = 0;
  for (const PackerState::Unit& unit : state.pending) {
    if (layout.sliding) write(unit.number - next);
    write(unit.footprint);
    next = unit.number + 1;
  }
  if (layout.sliding) {
    write(state.lambda);
    if (layout.slots) {
      write(state.slot_share);
      write(state.arrived);
      write(state.arrived_total);
    }
    if (layout.history) {
      write(state.history.size());
      for (const uint64_t count : state.history) write(count);
    }
  }
  write(state.sequences);
  uint64_t before = 0;
  for (const PackerState::Unit& unit : state.pending) {
    if (layout.ordinals) write(unit.ordinal - before);
    if (layout.cuts) write(unit.cut);
    before = unit.ordinal;
  }
  return WithChecksum(bytes + std::string(8, '\0'));
}

PackerState Decode(const PackSpec& spec, absl::string_view bytes) {
  const Layout layout(spec);
  bytes.remove_suffix(8);
  const auto read = [&] { return Read(&bytes); };
  PackerState state;
  state.version = read();
  state.fingerprint = read();
  state.finished = read();
  state.units = read();
  if (!layout.sliding) state.windows = read();
  state.pending.resize(read());
  uint64_t next = layout.sliding ? 0 : state.units - state.pending.size();
  for (PackerState::Unit& unit : state.pending) {
    unit.number = next + (layout.sliding ? read() : 0);
    unit.footprint = read();
    next = unit.number + 1;
  }
  if (layout.sliding) {
    state.lambda = read();
    if (layout.slots) {
      state.slot_share = read();
      state.arrived = read();
      state.arrived_total = read();
    }
    if (layout.history) {
      state.history.resize(read());
      for (uint64_t& count : state.history) count = read();
    }
  }
  state.sequences = read();
  uint64_t before = 0;
  for (PackerState::Unit& unit : state.pending) {
    unit.ordinal = layout.ordinals ? before + read() : unit.number;
    if (layout.cuts) unit.cut = read();
    before = unit.ordinal;
  }
  return state;
}

std::string WithChecksum(absl::string_view bytes) {
  bytes.remove_suffix(8);
  uint64_t sum = 14695981039346656037u;  // FNV-1a
  for (const char byte : bytes) {
    sum = (sum ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  }
  std::string all(bytes);
  for (int i = 0; i < 8; ++i, sum /= 256) {
    all.push_back(static_cast<char>(sum % 256));
  }
  return all;
}

absl::StatusOr<uint64_t> UseState(const PackSpec& spec, absl::string_view bytes,
                                  const Lengths& lengths, size_t flush) {
  absl::StatusOr<Packer> packer = Packer::Restore(spec, bytes);
  if (!packer.ok()) {
    if (absl::IsInvalidArgument(packer.status()) &&
        packer.status().message().size() < 2000) {
      return packer.status();
    }
    return Broken("not a refusal");
  }
  const PackerState state = Decode(spec, bytes);
  if (packer->Save() != bytes) return Broken("it is another state");
  if (packer->sequences() != state.sequences ||
      packer->pending_units() != state.pending.size() ||
      packer->oldest_pending_ordinal() != (state.pending.empty()
                                               ? state.sequences
                                               : state.pending[0].ordinal)) {
    return Broken("it is not where the state says");
  }
  Packs packs;
  if (state.finished != 0) {
    if (packer->Add({1}, &packs).ok() || packer->Finish(&packs).ok() ||
        !packs.empty() || packer->pending_units() > 0) {
      return Broken("it was finished");
    }
    return 0;
  }

  uint64_t count = 0;
  Waiting waiting(spec, state);
  if (waiting.size() != state.pending.size()) return Broken("the same twice");
  const auto check = [&](uint64_t before) {
    absl::Status status = waiting.Leave(packs, before);
    count += packs.size();
    packs.Clear();
    if (status.ok() && packer->pending_units() != waiting.size()) {
      status = Broken("the number pending");
    }
    const uint64_t window = static_cast<uint64_t>(spec.window_sequences);
    if (status.ok() && packer->pending_units() > window) {
      status = Broken("more than a window");
    }
    return status;
  };
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (i == flush) {
      if (!packer->Flush(&packs).ok()) return Broken("no flush");
      if (absl::Status s = check(waiting.units()); !s.ok()) return s;
      if (packer->pending_units() > 0) return Broken("flushed, but pending");
    }
    const uint64_t ordinal = packer->sequences();
    if (!CheckLengths(spec, {lengths[i]}, ordinal).ok()) continue;
    const uint64_t before = waiting.units();
    waiting.Arrive(ordinal, lengths[i]);
    if (!packer->Add({lengths[i]}, &packs).ok()) return Broken("no more");
    if (absl::Status s = check(before); !s.ok()) return s;
  }
  const std::string saved = packer->Save();
  if (saved.size() > MaxStateBytes(spec)) return Broken("a large state");
  // A state that was at the limit of what can be counted may now be beyond it.
  const uint64_t limit = uint64_t{1} << 60;
  if (waiting.units() <= limit && packer->sequences() <= limit) {
    packer = Packer::Restore(spec, saved);
    if (!packer.ok()) return Broken("its own state was refused");
    if (packer->Save() != saved) return Broken("its own state is another");
  }
  if (!packer->Finish(&packs).ok()) return Broken("no end");
  if (absl::Status s = check(waiting.units()); !s.ok()) return s;
  if (packer->pending_units() > 0) return Broken("finished, but pending");
  return count;
}

}  // namespace packhouse
