#include "session/length_log.h"

#include <algorithm>
#include <limits>

namespace packhouse {

// Cleared sequences are left out: each length comes behind the number of those
// before it.
void LengthLog::Save(uint64_t ordinal, StateWriter* writer) const {
  const absl::Span<const uint32_t> lengths = From(ordinal);
  writer->Number(ordinal);
  writer->Number(lengths.size());
  writer->Number(lengths.size() -
                 std::count(lengths.begin(), lengths.end(), 0u));
  size_t cleared = 0;
  for (const uint32_t length : lengths) {
    if (length == 0) {
      ++cleared;
      continue;
    }
    writer->Number(cleared);
    writer->Number(length);
    cleared = 0;
  }
}

void LengthLog::Restore(uint64_t max_size, StateReader* reader) {
  first_ = reader->Count();
  const uint64_t size = reader->NumberUpTo(max_size);
  const uint64_t kept = reader->NumberUpTo(size);
  lengths_.clear();
  for (uint64_t i = 0; i < kept && reader->ok(); ++i) {
    const uint64_t cleared =
        reader->NumberUpTo(size - lengths_.size() - (kept - i));
    const uint64_t length =
        reader->NumberUpTo(std::numeric_limits<uint32_t>::max());
    if (length == 0) reader->Fail();
    lengths_.resize(lengths_.size() + cleared);
    lengths_.push_back(static_cast<uint32_t>(length));
  }
  if (reader->ok()) lengths_.resize(size);
}

}  // namespace packhouse
