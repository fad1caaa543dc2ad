// What a server itself says no with, and how a refusal travels.
//
// The reasons are those of the comments in proto/packhouse/v1/packhouse.proto.

#ifndef PACKHOUSE_SERVER_REFUSAL_H_
#define PACKHOUSE_SERVER_REFUSAL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace packhouse {

// UNAVAILABLE, STOPPING. To be tried again at once: elsewhere.
absl::Status Stopping();

// RESOURCE_EXHAUSTED, SERVER_FULL: `what` would be `value`, may be `limit`.
absl::Status ServerFull(absl::string_view what, uint64_t value, uint64_t limit);

// ABORTED, FENCED: the connection with `incarnation` lost its stream to the
// one with `winner`.
absl::Status Fenced(uint64_t incarnation, uint64_t winner);

// DEADLINE_EXCEEDED, IDLE: nothing came for so long.
absl::Status Idle(absl::Duration limit);

// FAILED_PRECONDITION, PROTOCOL_VIOLATION: no more requests, and no `end`.
absl::Status ClosedBeforeEnd();

// CANCELLED: gRPC does not say whether the client went or a message of it was
// too large. Nobody is left to read a reason.
absl::Status ClientGone();

// With the reason, if there is one, as google.rpc error details.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_REFUSAL_H_
