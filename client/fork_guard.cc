#include "client/fork_guard.h"

#include <grpc/grpc.h>
#include <pthread.h>

#include <atomic>

namespace packhouse {
namespace {

std::atomic<bool> ran_before_fork{false};
std::atomic<bool> died_in_fork{false};

// gRPC is asked before the fork, because its lock may be held after it.
void BeforeFork() { ran_before_fork = grpc_is_initialized() != 0; }
void InChild() {
  if (ran_before_fork) died_in_fork = true;
}

[[maybe_unused]] const int registered =
    pthread_atfork(BeforeFork, /*parent=*/nullptr, InChild);

}  // namespace

bool GrpcDiedInFork() { return died_in_fork; }

absl::Status CheckGrpcAlive() {
  if (!GrpcDiedInFork()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this process was forked while gRPC ran in its parent, and gRPC does not "
      "work in such a child: fork before the parent uses gRPC (a client that "
      "was created and not used yet may be used in the child), or start the "
      "child with exec");
}

}  // namespace packhouse
