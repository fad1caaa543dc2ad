// What every saved state has around it: it is refused where it is damaged or of
// another spec.

#ifndef PACKHOUSE_PACKING_SEAL_H_
#define PACKHOUSE_PACKING_SEAL_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "packhouse/spec.h"

namespace packhouse {

// What Seal adds.
inline constexpr size_t kSealBytes = 8;

// `bytes` with a checksum behind them: FNV-1a (Fowler, Noll, Vo), 64 bits. It
// finds damage, not forgery.
std::string Seal(std::string bytes);

// The bytes without their checksum; none where it is not theirs.
absl::optional<absl::string_view> Unseal(absl::string_view sealed);

// Differs for specs whose packs may.
uint64_t Fingerprint(const PackSpec& spec);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_SEAL_H_
