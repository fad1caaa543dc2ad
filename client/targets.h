// Where the options of a client say that its servers are.

#ifndef PACKHOUSE_CLIENT_TARGETS_H_
#define PACKHOUSE_CLIENT_TARGETS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "net/address.h"
#include "packhouse/client.h"

namespace packhouse {

// One to kMaxTargets of them. INVALID_ARGUMENT where one has no known form, or
// TLS is not for it or lacks a sound file.
absl::StatusOr<std::vector<Address>> ParseTargets(const ClientOptions& options);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_TARGETS_H_
