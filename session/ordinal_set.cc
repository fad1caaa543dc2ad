#include "session/ordinal_set.h"

namespace packhouse {

void OrdinalSet::Trim() {
  while (full_words_ < words_.size() && words_[full_words_] == ~uint64_t{0}) {
    ++full_words_;
  }
  // Moving the rest down pays once what is dropped is as large.
  if (full_words_ * 2 < words_.size()) return;
  words_.erase(words_.begin(), words_.begin() + full_words_);
  first_ += full_words_ * 64;
  full_words_ = 0;
}

uint64_t OrdinalSet::first_missing() const {
  size_t word = full_words_;
  while (word < words_.size() && words_[word] == ~uint64_t{0}) ++word;
  uint64_t ordinal = first_ + 64 * word;
  while (Contains(ordinal)) ++ordinal;
  return ordinal;
}

// All words from the one with the first missing ordinal on.
void OrdinalSet::Save(uint64_t end, StateWriter* writer) const {
  const uint64_t begin = first_missing() / 64 * 64;
  writer->Number(begin / 64);
  for (uint64_t at = begin; at < end; at += 64) {
    const size_t word = (at - first_) / 64;
    writer->Number(word < words_.size() ? words_[word] : 0);
  }
}

void OrdinalSet::Restore(uint64_t end, uint64_t max_words,
                         StateReader* reader) {
  first_ = 64 * reader->NumberUpTo(end / 64);
  full_words_ = 0;
  words_.clear();
  if ((end - first_) / 64 > max_words) reader->Fail();
  for (uint64_t at = first_; at < end && reader->ok(); at += 64) {
    words_.push_back(reader->Number());
    const uint64_t present = end - at;
    if (present < 64 && words_.back() >> present != 0) reader->Fail();
  }
}

}  // namespace packhouse
