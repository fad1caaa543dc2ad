// The bytes of a saved state: numbers one after another, each in as few bytes
// as it needs (base 128, least significant first). A reader trusts nothing: it
// never reads beyond the end, never makes a list longer than the bytes that are
// left could hold, and takes each number in one spelling only.

#ifndef PACKHOUSE_PACKING_STATE_H_
#define PACKHOUSE_PACKING_STATE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace packhouse {

// Sequences, or units, that a stream can have had: beyond what a hundred
// million a second make in three centuries. The limit keeps every sum in 64
// bits.
inline constexpr uint64_t kMaxStreamCount = uint64_t{1} << 60;

// Bytes of a number that is at most `high`.
constexpr uint64_t MaxNumberBytes(uint64_t high) {
  return high < 0x80 ? 1 : 1 + MaxNumberBytes(high >> 7);
}

// Bytes of a list of at most `size` numbers that are at most `high`.
constexpr uint64_t MaxNumbersBytes(uint64_t size, uint64_t high) {
  return MaxNumberBytes(size) + size * MaxNumberBytes(high);
}

class StateWriter {
 public:
  void Number(uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<char>(value));
  }

  // How many, then each.
  void Numbers(absl::Span<const uint32_t> values) {
    Number(values.size());
    for (uint32_t value : values) Number(value);
  }

  // How many, then they.
  void Bytes(absl::string_view bytes) {
    Number(bytes.size());
    bytes_.append(bytes.data(), bytes.size());
  }

  std::string Take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// After the first failure every read gives 0 (an empty list) and ok() is false.
class StateReader {
 public:
  // `bytes` must outlive the reader.
  explicit StateReader(absl::string_view bytes) : left_(bytes) {}

  uint64_t Number();

  // Fails where the number is over `limit`.
  uint64_t NumberUpTo(uint64_t limit);

  // Fails where the number is over kMaxStreamCount.
  uint64_t Count() { return NumberUpTo(kMaxStreamCount); }

  // Fails where there are more than `max_size`, or one is not in [low, high].
  std::vector<uint32_t> Numbers(uint64_t max_size, uint32_t low, uint32_t high);

  // Fails where there are more than `max_size`. They belong to the reader's
  // bytes.
  absl::string_view Bytes(uint64_t max_size);

  // Marks the state as wrong, for checks that the reader cannot make.
  void Fail() {
    ok_ = false;
    left_ = {};
  }

  bool ok() const { return ok_; }

  // Bytes that are still to be read.
  uint64_t left() const { return left_.size(); }

  // True when everything was read and nothing was wrong.
  bool AtEnd() const { return ok_ && left_.empty(); }

 private:
  absl::string_view left_;
  bool ok_ = true;
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_STATE_H_
