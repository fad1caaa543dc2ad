// gRPC does not survive a fork: in the child its threads are gone and its locks
// may be held by them, so that calls there hang beyond their deadlines. The
// guard notices forks of a process in which gRPC runs, whoever started it.

#ifndef PACKHOUSE_CLIENT_FORK_GUARD_H_
#define PACKHOUSE_CLIENT_FORK_GUARD_H_

#include "absl/status/status.h"

namespace packhouse {

// True in a process that was forked while gRPC ran, and in its children:
// gRPC's objects must not be touched there, not even to destroy them.
bool GrpcDiedInFork();

// FAILED_PRECONDITION where GrpcDiedInFork, with what to do instead.
absl::Status CheckGrpcAlive();

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_FORK_GUARD_H_
