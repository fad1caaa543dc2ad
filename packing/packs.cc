#include "packhouse/packs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace packhouse {
namespace {

bool SameSourceOffsets(const Packs& a, const Packs& b) {
  if (a.source_offsets.empty() && b.source_offsets.empty()) return true;
  for (size_t i = 0; i < a.ordinals.size(); ++i) {
    if (a.source_offset(i) != b.source_offset(i)) return false;
  }
  return true;
}

}  // namespace

absl::Status CheckColumns(const Packs& packs) {
  if (packs.offsets.empty() || packs.offsets.front() != 0 ||
      packs.offsets.back() != packs.ordinals.size() ||
      !std::is_sorted(packs.offsets.begin(), packs.offsets.end())) {
    return absl::InvalidArgumentError(
        absl::StrCat("offsets must ascend from 0 to the number of ordinals, ",
                     packs.ordinals.size()));
  }
  if (!packs.source_offsets.empty() &&
      packs.source_offsets.size() != packs.ordinals.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", packs.source_offsets.size(), " source offsets for ",
        packs.ordinals.size(), " ordinals"));
  }
  return absl::OkStatus();
}

bool operator==(const Packs& a, const Packs& b) {
  return a.offsets == b.offsets && a.ordinals == b.ordinals &&
         SameSourceOffsets(a, b);
}

void Packs::Append(const Packs& other) {
  const uint64_t base = ordinals.size();
  if (!source_offsets.empty() || !other.source_offsets.empty()) {
    source_offsets.resize(base);
    source_offsets.insert(source_offsets.end(), other.source_offsets.begin(),
                          other.source_offsets.end());
    source_offsets.resize(base + other.ordinals.size());
  }
  ordinals.insert(ordinals.end(), other.ordinals.begin(), other.ordinals.end());
  for (size_t i = 1; i < other.offsets.size(); ++i) {
    offsets.push_back(base + other.offsets[i]);
  }
}

Packs Packs::Slice(size_t begin, size_t end) const {
  const uint64_t first = offsets[begin];
  const uint64_t last = offsets[end];
  Packs slice;
  slice.ordinals.assign(ordinals.begin() + first, ordinals.begin() + last);
  if (!source_offsets.empty()) {
    slice.source_offsets.assign(source_offsets.begin() + first,
                                source_offsets.begin() + last);
  }
  slice.offsets.resize(end - begin + 1);
  for (size_t i = begin; i <= end; ++i) {
    slice.offsets[i - begin] = offsets[i] - first;
  }
  return slice;
}

void Packs::Clear() {
  offsets.resize(1);
  ordinals.clear();
  source_offsets.clear();
}

}  // namespace packhouse
