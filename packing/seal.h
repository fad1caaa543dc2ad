// What every saved state has around it: it is refused where it is damaged, of
// another spec, or of a version that this build does not know.

#ifndef PACKHOUSE_PACKING_SEAL_H_
#define PACKHOUSE_PACKING_SEAL_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "packhouse/spec.h"
#include "packing/state.h"

namespace packhouse {

// Bytes of the checksum: FNV-1a (Fowler, Noll, Vo), 64 bits. It finds damage,
// not forgery.
inline constexpr size_t kSealBytes = 8;

// Differs for specs whose packs may.
uint64_t Fingerprint(const PackSpec& spec);

// A writer that has the version and the spec of a state, and the state when the
// rest is written behind them.
StateWriter BeginState(uint64_t version, const PackSpec& spec);
std::string SealState(std::string bytes);

// A reader of what was written behind the version and the spec.
// INVALID_ARGUMENT where the state is not a sound one of these; `what` is its
// name in the text. `state` must outlive the reader.
absl::StatusOr<StateReader> OpenState(absl::string_view what, uint64_t version,
                                      const PackSpec& spec,
                                      absl::string_view state);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_SEAL_H_
