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

}  // namespace packhouse
