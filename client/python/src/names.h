// Values of an enum by the names that users have for them.

#ifndef PACKHOUSE_CLIENT_PYTHON_SRC_NAMES_H_
#define PACKHOUSE_CLIENT_PYTHON_SRC_NAMES_H_

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/status.h"

namespace packhouse {

// The value of `Enum` whose names, in its order, are `names`. Throws
// ValueError.
template <typename Enum, size_t kCount>
Enum ValueNamed(const std::string& field, const std::string& name,
                const char* const (&names)[kCount]) {
  for (size_t i = 0; i < kCount; ++i) {
    if (name == names[i]) return static_cast<Enum>(i);
  }
  Throw(absl::InvalidArgumentError(
      absl::StrCat(field, " is '", name,
                   "', it must be one of: ", absl::StrJoin(names, ", "))));
}

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_PYTHON_SRC_NAMES_H_
