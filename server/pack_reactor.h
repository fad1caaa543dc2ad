// One Pack call: moves messages between gRPC and a ServerSession.
//
// gRPC allows one read and one write at a time, and Finish once, with no write
// on the way. So responses wait in a queue, and one function, Advance, starts
// whatever may be started now; every reaction notes what has happened and calls
// it; so does the server when it has something to say to the stream. gRPC runs
// reactions on threads of its own, never inside the call that starts an
// operation, so that operations may be started under the mutex.
//
// A request is served by the session where it arrived if it is light, else by
// the pool. Nothing is read meanwhile, so requests stay in order, and the
// session belongs to whoever serves the request (receiving_) or, while nobody
// does, to who holds the mutex.
//
// A client that does not read fills the queue; the server then stops reading
// from it, until HTTP/2 flow control stops the client. Credit alone would not:
// a client can ignore it.

#ifndef PACKHOUSE_SERVER_PACK_REACTOR_H_
#define PACKHOUSE_SERVER_PACK_REACTOR_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "packhouse/v1/packhouse.pb.h"
#include "server/memory_budget.h"
#include "server/metrics.h"
#include "server/open_streams.h"
#include "server/service_host.h"
#include "session/server_session.h"

namespace packhouse {

class PackReactor final
    : public grpc::ServerBidiReactor<v1::PackRequest, v1::PackResponse>,
      public OpenStream,
      public std::enable_shared_from_this<PackReactor> {
 public:
  // The call begins. It owns itself until gRPC is done with it; the caller lets
  // it into host->streams, which it leaves at the end.
  static PackReactor* Start(ServiceHost* host,
                            grpc::CallbackServerContext* context);

  // Of OpenStream.
  void End(const absl::Status& status) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Drain(double grace_seconds) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Tick(absl::Time now) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Describe(absl::Time now, v1::StreamStatus* status) const override
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Reactions.
  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Queued {
    v1::PackResponse message;
    uint64_t units;  // what it takes, see UnitsOf
  };

  PackReactor(ServiceHost* host, grpc::CallbackServerContext* context);

  // Serves received_, on the thread that calls.
  void Receive() ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether the stream may be opened on this server.
  absl::Status Admit(const Open& open);

  // Moves answers_ into the queue.
  void Enqueue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Enqueue(const Response& answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The first outcome holds; what is queued is sent before it.
  void EndWith(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void EndByServer(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The client takes no more.
  void Break() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Starts what may be started.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Once: how the stream ended, for metrics and log.
  void CountEnd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ServiceHost* const host_;
  grpc::CallbackServerContext* const context_;
  const std::string peer_;  // gRPC forgets it with the connection
  const absl::Time started_at_;
  std::shared_ptr<PackReactor> self_;  // until gRPC is done

  // Of whoever serves a request, or see above.
  ServerSession session_;
  MemoryBudget::Share memory_;
  v1::PackRequest request_;
  Request received_;
  std::vector<Response> answers_;

  mutable absl::Mutex mutex_;
  StreamMeter meter_ ABSL_GUARDED_BY(mutex_);
  // The first is being written if writing_.
  std::deque<Queued> queue_ ABSL_GUARDED_BY(mutex_);
  uint64_t queued_units_ ABSL_GUARDED_BY(mutex_) = 0;  // without that one
  v1::PackResponse spare_ ABSL_GUARDED_BY(mutex_);     // for its memory
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool receiving_ ABSL_GUARDED_BY(mutex_) = false;  // what was read
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;   // a read or a write failed
  bool drained_ ABSL_GUARDED_BY(mutex_) = false;  // the client was told
  absl::optional<double> drain_seconds_ ABSL_GUARDED_BY(mutex_);  // tell it so
  absl::Time heard_at_ ABSL_GUARDED_BY(mutex_);
  // Set once nothing more is to be read: how the stream ends, and since when.
  absl::optional<absl::Status> outcome_ ABSL_GUARDED_BY(mutex_);
  absl::Time ended_at_ ABSL_GUARDED_BY(mutex_);
  bool ended_by_server_ ABSL_GUARDED_BY(mutex_) = false;

  std::string stream_id_ ABSL_GUARDED_BY(mutex_);  // as asked for, for the log

  // For Describe.
  Credit credit_ ABSL_GUARDED_BY(mutex_);  // the last
  struct Shown {
    std::string id;
    uint64_t incarnation = 0;
    bool resumed = false;
    uint64_t memory_bytes = 0;
  };
  absl::optional<Shown> shown_ ABSL_GUARDED_BY(mutex_);  // once it is open
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_PACK_REACTOR_H_
