// The saved state of a packer as packing/ lays it out, read and written by code
// that shares nothing with it, and what has to hold of a packer that was
// restored from any bytes whatever.

#ifndef PACKHOUSE_TESTS_PACKING_PACKER_STATE_H_
#define PACKHOUSE_TESTS_PACKING_PACKER_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "packhouse/spec.h"
#include "tests/packing/naive_packer.h"

namespace packhouse {

struct PackerState {
  struct Unit {
    uint64_t number = 0;
    uint64_t footprint = 0;  // in multiples of the alignment
    uint64_t ordinal = 0;
    uint64_t cut = 0;  // index of a piece, or tokens of the head cut off
  };

  uint64_t version = 0;
  uint64_t fingerprint = 0;
  uint64_t finished = 0;
  uint64_t units = 0;
  std::vector<Unit> pending;
  uint64_t sequences = 0;

  // Of a windowed rule.
  uint64_t windows = 0;

  // Of `sliding`: prices.
  uint64_t lambda = 0;
  uint64_t slot_share = 0;
  uint64_t arrived = 0;
  uint64_t arrived_total = 0;
  std::vector<uint64_t> history;
};

// The bytes of a state, checksum and all. Numbers wrap around where they cannot
// be written as they are, so that any state gives some bytes.
std::string Encode(const PackSpec& spec, const PackerState& state);

// Requires bytes that Packer::Save gave or Packer::Restore took.
PackerState Decode(const PackSpec& spec, absl::string_view bytes);

// `bytes` with a right checksum in place of the last 8.
std::string WithChecksum(absl::string_view bytes);

// Restores a packer from `bytes`, gives it `lengths` (those that the spec does
// not refuse) one by one, with a flush before number `flush`, and finishes it.
// The number of packs; INVALID_ARGUMENT where the state was refused, INTERNAL
// where any promise was broken: the packer is not where the state says, holds
// more than a window, loses, repeats or overfills, keeps a unit too long, does
// not come back from its own state, or is saved in more than MaxStateBytes.
absl::StatusOr<uint64_t> UseState(const PackSpec& spec, absl::string_view bytes,
                                  const Lengths& lengths, size_t flush);

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_PACKING_PACKER_STATE_H_
