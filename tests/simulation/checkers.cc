#include "tests/simulation/checkers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "packhouse/packer.h"
#include "packhouse/policy.h"

namespace packhouse {
namespace {

template <typename... Args>
absl::Status Broken(const Args&... args) {
  return absl::FailedPreconditionError(absl::StrCat(args...));
}

// The packs that count: of each number the one that the latest life took.
// Where numbers are missing, what follows them is left out.
Packs Effective(const History& history) {
  Packs packs;
  for (const Life& life : history.lives) {
    const size_t before = static_cast<size_t>(life.first_pack - 1);
    if (before > packs.size()) return packs;
    packs = packs.Slice(0, before);
    packs.Append(life.taken);
  }
  return packs;
}

absl::Status Conserved(const History& history) {
  std::map<std::pair<uint64_t, uint32_t>, int> units;
  const Packs packs = Effective(history);
  for (size_t i = 0; i < packs.ordinals.size(); ++i) {
    if (++units[{packs.ordinals[i], packs.source_offset(i)}] > 1) {
      return Broken("sequence ", packs.ordinals[i], " from token ",
                    packs.source_offset(i), " is packed twice");
    }
  }
  if (!history.complete) return absl::OkStatus();
  size_t due = 0;
  for (uint64_t i = 0; i < history.lengths.size(); ++i) {
    const uint32_t length = history.lengths[i];
    const uint32_t count = UnitCount(history.spec, length);
    due += count;
    for (uint32_t unit = 0; unit < count; ++unit) {
      const uint32_t offset = UnitOffset(history.spec, length, unit);
      if (units.count({i, offset}) == 0) {
        return Broken("sequence ", i, " from token ", offset, " is in no pack");
      }
    }
  }
  if (units.size() != due) {
    return Broken(units.size(), " units are packed, ", due, " were given");
  }
  return absl::OkStatus();
}

absl::Status Fits(const History& history) {
  const PackSpec& spec = history.spec;
  for (const Life& life : history.lives) {
    for (size_t i = 0; i < life.taken.size(); ++i) {
      if (life.taken[i].empty()) return Broken("pack ", i, " is empty");
      uint64_t footprint = 0;
      for (size_t entry = life.taken.offsets[i];
           entry < life.taken.offsets[i + 1]; ++entry) {
        const uint64_t ordinal = life.taken.ordinals[entry];
        if (ordinal >= history.lengths.size()) {
          return Broken("pack ", i, " has sequence ", ordinal,
                        ", which is not in the source");
        }
        footprint +=
            Footprint(spec, UnitTokens(spec, history.lengths[ordinal],
                                       life.taken.source_offset(entry)));
      }
      if (footprint > static_cast<uint64_t>(spec.capacity_tokens)) {
        return Broken("pack ", i, " takes ", footprint, " of ",
                      spec.capacity_tokens, " tokens");
      }
      if (spec.max_sequences_per_pack != 0 &&
          life.taken[i].size() >
              static_cast<uint64_t>(spec.max_sequences_per_pack)) {
        return Broken("pack ", i, " has ", life.taken[i].size(),
                      " units, allowed are ", spec.max_sequences_per_pack);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Ordered(const History& history) {
  uint64_t next = 1;
  for (const Life& life : history.lives) {
    if (life.first_pack > next) {
      return Broken("a life began with pack ", life.first_pack,
                    ", the last one taken was ", next - 1);
    }
    next = life.first_pack + life.taken.size();
    for (size_t i = 0; i < life.taken.size(); ++i) {
      const auto pack = life.taken[i];
      if (!std::is_sorted(pack.begin(), pack.end())) {
        return Broken("the ordinals of pack ", life.first_pack + i,
                      " do not ascend");
      }
    }
  }
  return absl::OkStatus();
}

Packs Unbroken(const History& history) {
  Packer packer = *Packer::Create(history.spec);
  Packs packs;
  uint64_t given = 0;
  const absl::Span<const uint32_t> lengths = history.lengths;
  for (const uint64_t flush : history.flushes) {
    packer.Add(lengths.subspan(given, flush - given), &packs).IgnoreError();
    packer.Flush(&packs).IgnoreError();
    given = flush;
  }
  packer.Add(lengths.subspan(given), &packs).IgnoreError();
  packer.Finish(&packs).IgnoreError();
  return packs;
}

absl::Status Deterministic(const History& history) {
  const Packs packs = Effective(history);
  const Packs unbroken = Unbroken(history);
  if (packs.size() > unbroken.size() ||
      !(unbroken.Slice(0, packs.size()) == packs)) {
    return Broken("the packs are not those of an unbroken stream");
  }
  if (history.complete && packs.size() != unbroken.size()) {
    return Broken(packs.size(), " packs came, an unbroken stream has ",
                  unbroken.size());
  }
  return absl::OkStatus();
}

absl::Status Resumable(const History& history) {
  Packs known;
  for (const Life& life : history.lives) {
    const size_t before = static_cast<size_t>(life.first_pack - 1);
    if (before > known.size()) {
      return Broken("a life began with pack ", life.first_pack, ", taken were ",
                    known.size());
    }
    const size_t both = std::min(known.size() - before, life.taken.size());
    if (!(known.Slice(before, before + both) == life.taken.Slice(0, both))) {
      return Broken("a life that began with pack ", life.first_pack,
                    " took other packs than the one before");
    }
    if (before + life.taken.size() > known.size()) {
      known = known.Slice(0, before);
      known.Append(life.taken);
    }
  }
  return absl::OkStatus();
}

absl::Status Bounded(const History& history) {
  for (const Peak& peak : history.peaks) {
    if (peak.seen > peak.allowed) {
      return Broken(peak.what, " came to ", peak.seen, ", stated are ",
                    peak.allowed);
    }
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<Checker>& Checkers() {
  static const auto* const checkers = new std::vector<Checker>{
      {"Conserved", Conserved}, {"Fits", Fits},
      {"Ordered", Ordered},     {"Deterministic", Deterministic},
      {"Resumable", Resumable}, {"Bounded", Bounded},
  };
  return *checkers;
}

std::string FindViolation(const History& history) {
  for (const Checker& checker : Checkers()) {
    const absl::Status status = checker.check(history);
    if (!status.ok()) {
      return absl::StrCat(checker.name, ": ", status.message());
    }
  }
  return "";
}

}  // namespace packhouse
