// When a call that failed is worth another try, and how long to wait before it.

#ifndef PACKHOUSE_CLIENT_RETRY_H_
#define PACKHOUSE_CLIENT_RETRY_H_

#include <grpcpp/grpcpp.h>

#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/remote_server.h"

namespace packhouse {

// Decided by codes and details, never by text:
//   UNAVAILABLE         no connection, a lost one, or a server that stops
//   DEADLINE_EXCEEDED   the server had nothing to read for too long (a stream),
//                       or was silent for too long (a plan)
//   RESOURCE_EXHAUSTED  with a google.rpc.RetryInfo: the server is full. How
//                       long it would have us wait is left to Backoff: another
//                       target may have room at once
//   CANCELLED, INTERNAL, UNKNOWN
//                       without details: gRPC or a proxy says so, because
//                       bytes were lost or made no sense. What a packhoused
//                       says of itself has details, and is final.
// Every other code is final.
bool IsWorthRetry(const grpc::Status& status);

// The error of a failed call that was worth another try and gets none: with
// UNAVAILABLE in place of the codes of a broken connection and of a full
// server.
absl::Status OnlyTryFailed(const absl::Status& cause);

// Waits that double from 50 ms to 2 s, each drawn anew from 0 to that
// ("full jitter": clients that lost one server do not come back as one crowd).
class Backoff {
 public:
  Backoff();

  absl::Duration Next();
  void Reset();

 private:
  absl::Duration limit_;
  std::minstd_rand random_;
};

// The error of having tried all of `targets` for `tried_for` without an answer:
// the text of `last`, and every target, in less than 2 kB. DEADLINE_EXCEEDED
// where that was the last cause, UNAVAILABLE otherwise.
absl::Status NobodyAnswered(const std::vector<RemoteServer>& targets,
                            absl::Duration tried_for, const absl::Status& last);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_RETRY_H_
