// The reason that libraries keep to themselves.

#ifndef PACKHOUSE_SERVER_BIND_FAILURE_H_
#define PACKHOUSE_SERVER_BIND_FAILURE_H_

#include "absl/status/status.h"
#include "net/address.h"

namespace packhouse {

// Why a server could not listen on a TCP address, after a library said no more
// than that: FAILED_PRECONDITION with the address and the kernel's reason,
// found by trying to bind it.
absl::Status ExplainBindFailure(const Address& address);

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_BIND_FAILURE_H_
