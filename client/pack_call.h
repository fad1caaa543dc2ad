// One Pack call: the shim between gRPC's callbacks and the stream that uses the
// call as its connection.
//
// The stream decides everything; this class moves its messages. A read is
// always outstanding, so that a server that writes can never block one that is
// written to. At most one write is in flight: whoever finds none claims it
// (`writing_`), and its completion sends the next request that the stream has.
// Messages are encoded and decoded by the one holder of the write and the read,
// outside any lock.
//
// A call lives as long as gRPC needs it, which may be longer than the stream
// wants it: it keeps itself alive until its last reaction.

#ifndef PACKHOUSE_CLIENT_PACK_CALL_H_
#define PACKHOUSE_CLIENT_PACK_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "client/remote_server.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "session/messages.h"

namespace packhouse {

// Thread-safe.
class PackCall final
    : private grpc::ClientBidiReactor<v1::PackRequest, v1::PackResponse> {
 public:
  // What a call serves. Any thread of gRPC's calls it, and SendNext does.
  class Stream {
   public:
    virtual ~Stream() = default;

    // The next request for this call to write; none while there is none. Must
    // not call the call.
    virtual absl::optional<Request> NextRequest(const PackCall* call) = 0;

    // A response, or why what came is none. False where the call is of no
    // further use: then it is cancelled.
    virtual bool Receive(const PackCall* call,
                         const absl::StatusOr<Response>& response) = 0;

    // How the call has ended. The last that is heard of it.
    virtual void EndCall(const PackCall* call, const grpc::Status& status) = 0;
  };

  // Starts a call, which fails at once where there is no connection. SendNext
  // has to be called for its first request.
  static std::shared_ptr<PackCall> Start(const RemoteServer& server,
                                         std::shared_ptr<Stream> stream);

  // Starts the next write if none is in flight and the stream has a request.
  void SendNext() ABSL_LOCKS_EXCLUDED(mutex_);

  // Makes gRPC end the call soon, whatever the server does. Takes no lock.
  void Cancel() { context_.TryCancel(); }

  // Waits until gRPC has let go of the call, up to the limit.
  void WaitEnded(absl::Duration limit) {
    ended_.WaitForNotificationWithTimeout(limit);
  }

 private:
  explicit PackCall(std::shared_ptr<Stream> stream);

  // Reactions of gRPC.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  // No further write is started; gRPC may call OnDone.
  void CloseWrites() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  grpc::ClientContext context_;
  std::shared_ptr<Stream> stream_;  // until OnDone
  std::shared_ptr<PackCall> self_;  // likewise
  absl::Notification ended_;

  // Owned by the write and by the read in flight.
  v1::PackRequest request_message_;
  v1::PackResponse response_message_;
  absl::StatusOr<Response> response_;

  absl::Mutex mutex_;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // Writes are started outside reactions too, which gRPC allows under a hold
  // only: it is kept until no write can follow.
  bool holding_ ABSL_GUARDED_BY(mutex_) = true;
  bool writes_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_PACK_CALL_H_
