// What the fuzz targets share: how bytes become a spec and lengths, and how a
// finding is told.
//
// A target is a function of bytes that must return whatever they are. libFuzzer
// looks for those where it does not; what it found is kept in corpus/ and tried
// in every test run (standalone_main.cc).

#ifndef PACKHOUSE_TESTS_FUZZ_FUZZ_H_
#define PACKHOUSE_TESTS_FUZZ_FUZZ_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "packhouse/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace packhouse {

// Ends the program where `holds` is false.
inline void Require(bool holds, absl::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "finding: %.*s\n", static_cast<int>(what.size()),
               what.data());
  std::abort();
}

// Takes bytes from the front. Behind the end there are zeros.
class FuzzBytes {
 public:
  FuzzBytes(const uint8_t* data, size_t size)
      : left_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return left_.empty(); }

  // All that is left.
  absl::string_view Rest() const { return left_; }

  uint8_t Byte() {
    if (left_.empty()) return 0;
    const uint8_t byte = static_cast<uint8_t>(left_.front());
    left_.remove_prefix(1);
    return byte;
  }

  // From `low` to `high`, in as few bytes as that takes.
  uint64_t Between(uint64_t low, uint64_t high) {
    uint64_t drawn = 0;
    for (uint64_t most = high - low; most > 0; most >>= 8) {
      drawn = drawn << 8 | Byte();
    }
    const uint64_t values = high - low + 1;  // 0 for all that there are
    return low + (values == 0 ? drawn : drawn % values);
  }

  int64_t IntBetween(int64_t low, int64_t high) {
    return static_cast<int64_t>(
        Between(static_cast<uint64_t>(low), static_cast<uint64_t>(high)));
  }

 private:
  absl::string_view left_;
};

// A valid spec by a rule for streams. Capacities and windows are small as a
// rule, so that packs and windows end, and now and then as large as they get.
inline PackSpec TakeSpec(FuzzBytes* bytes) {
  static const char* const kRules[] = {"spfhp", "lpfhp", "depth_aware",
                                       "sliding"};
  PackSpec spec;
  spec.algorithm = kRules[bytes->Between(0, 3)];
  constexpr int64_t kMostTokens[] = {16, 255, 65535, kMaxCapacityTokens};
  spec.capacity_tokens =
      bytes->IntBetween(1, kMostTokens[bytes->Between(0, 3)]);
  constexpr int64_t kMostSequences[] = {4, 16, 255, kMaxWindowSequences};
  spec.window_sequences =
      bytes->IntBetween(1, kMostSequences[bytes->Between(0, 3)]);
  spec.max_sequences_per_pack = bytes->IntBetween(0, 15);
  spec.sequence_alignment =
      bytes->IntBetween(1, std::min<int64_t>(spec.capacity_tokens, 32));
  spec.overlong = static_cast<Overlong>(bytes->Between(0, 4));
  spec.empty = static_cast<Empty>(bytes->Between(0, 1));
  const uint64_t extra = bytes->Byte();
  if (spec.algorithm == "sliding") {
    spec.effort = static_cast<Effort>(extra % 3);
    spec.max_displacement = static_cast<int64_t>(extra / 3);
  } else if (extra > 0) {
    spec.seed = extra;
  }
  return spec;
}

// Up to so many lengths that the spec does not refuse, of any kind that it has
// a policy for; no sequence becomes more than a few pieces.
inline std::vector<uint32_t> TakeLengths(const PackSpec& spec, size_t most,
                                         FuzzBytes* bytes) {
  const uint64_t shortest = spec.empty == Empty::kDrop ? 0 : 1;
  const uint64_t longest = LongestPiece(spec);
  const uint64_t over = std::min<uint64_t>(LongestAccepted(spec), 8 * longest);
  std::vector<uint32_t> lengths(bytes->Between(0, most));
  for (uint32_t& length : lengths) {
    const uint64_t kind = bytes->Between(0, 3);
    const uint64_t high = kind == 0   ? over
                          : kind == 1 ? longest
                                      : std::min<uint64_t>(longest, 16 * kind);
    length = static_cast<uint32_t>(bytes->Between(shortest, high));
  }
  return lengths;
}

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_FUZZ_FUZZ_H_
