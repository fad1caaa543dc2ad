// The lengths of a stream from its oldest waiting sequence on, so that what is
// packed can be counted in tokens.
//
// Thread-compatible.

#ifndef PACKHOUSE_SESSION_WAITING_LENGTHS_H_
#define PACKHOUSE_SESSION_WAITING_LENGTHS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace packhouse {

class WaitingLengths {
 public:
  // The next sequences of the stream.
  void Append(absl::Span<const uint32_t> lengths) {
    lengths_.insert(lengths_.end(), lengths.begin(), lengths.end());
  }

  // Of all that were appended and not forgotten, and maybe some before.
  absl::Span<const uint32_t> lengths() const { return lengths_; }

  // The ordinal of lengths()[0].
  uint64_t first_ordinal() const { return first_; }

  // Sequences before `ordinal` will not be asked for. O(1) amortised.
  void Forget(uint64_t ordinal) {
    const size_t gone = ordinal - first_;
    if (gone < lengths_.size() / 2 + 1) return;
    lengths_.erase(lengths_.begin(), lengths_.begin() + gone);
    first_ = ordinal;
  }

 private:
  uint64_t first_ = 0;
  std::vector<uint32_t> lengths_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SESSION_WAITING_LENGTHS_H_
