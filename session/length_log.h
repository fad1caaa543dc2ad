// The lengths of a stream from some ordinal on: what a server needs to count
// the tokens that it packs, and what a client needs to send again.
//
// Thread-compatible.

#ifndef PACKHOUSE_SESSION_LENGTH_LOG_H_
#define PACKHOUSE_SESSION_LENGTH_LOG_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "packing/state.h"

namespace packhouse {

class LengthLog {
 public:
  // Empty; the next sequence has this ordinal.
  explicit LengthLog(uint64_t first_ordinal = 0) : first_(first_ordinal) {}

  // The next sequences of the stream.
  void Append(absl::Span<const uint32_t> lengths) {
    lengths_.insert(lengths_.end(), lengths.begin(), lengths.end());
  }

  // Of all that were appended and not forgotten, and maybe some before.
  absl::Span<const uint32_t> lengths() const { return lengths_; }

  // The lengths from `ordinal` on, which must not be forgotten.
  absl::Span<const uint32_t> From(uint64_t ordinal) const {
    return lengths().subspan(ordinal - first_);
  }

  // The ordinal of lengths()[0], and the one of the next sequence.
  uint64_t first_ordinal() const { return first_; }
  uint64_t end_ordinal() const { return first_ + lengths_.size(); }

  // Sequences before `ordinal` will not be asked for. O(1) amortised.
  void Forget(uint64_t ordinal) {
    if (ordinal <= first_) return;
    const size_t gone = ordinal - first_;
    if (gone < lengths_.size() / 2 + 1) return;
    lengths_.erase(lengths_.begin(), lengths_.begin() + gone);
    first_ = ordinal;
  }

  // This sequence will not be asked for. It stays in lengths() as 0 and costs
  // nothing when the log is saved.
  void Clear(uint64_t ordinal) { lengths_[ordinal - first_] = 0; }

  // Writes the lengths from `ordinal` on, which must not be forgotten.
  void Save(uint64_t ordinal, StateWriter* writer) const;

  // Takes what was saved in place of what it has. The reader fails where there
  // are more than `max_size` sequences, before memory is taken for them.
  void Restore(uint64_t max_size, StateReader* reader);

 private:
  uint64_t first_;
  std::vector<uint32_t> lengths_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SESSION_LENGTH_LOG_H_
