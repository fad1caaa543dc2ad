#include "packing/state.h"

#include <algorithm>

namespace packhouse {

uint64_t StateReader::Number() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !left_.empty(); shift += 7) {
    const uint64_t byte = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    // The tenth byte has the one bit that is left of 64.
    if (shift == 63 && byte > 1) break;
    // A last byte of 0 adds nothing.
    if (shift > 0 && byte == 0) break;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  Fail();
  return 0;
}

uint64_t StateReader::NumberUpTo(uint64_t limit) {
  const uint64_t value = Number();
  if (value <= limit) return value;
  Fail();
  return 0;
}

std::vector<uint32_t> StateReader::Numbers(uint64_t max_size, uint32_t low,
                                           uint32_t high) {
  // A number takes a byte at least.
  const uint64_t size = NumberUpTo(std::min<uint64_t>(max_size, left_.size()));
  std::vector<uint32_t> values;
  values.reserve(size);
  for (uint64_t i = 0; i < size && ok_; ++i) {
    values.push_back(static_cast<uint32_t>(NumberUpTo(high)));
    if (values.back() < low) Fail();
  }
  if (!ok_) values.clear();
  return values;
}

absl::string_view StateReader::Bytes(uint64_t max_size) {
  const uint64_t size = NumberUpTo(std::min<uint64_t>(max_size, left_.size()));
  // The number itself was read from left_ in the meantime.
  if (size > left_.size()) Fail();
  const absl::string_view bytes = left_.substr(0, ok_ ? size : 0);
  left_.remove_prefix(bytes.size());
  return bytes;
}

}  // namespace packhouse
