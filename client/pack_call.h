// One Pack call: the shim between gRPC's callbacks and a ClientSession.
//
// The session decides everything; this class moves its messages and lets
// callers wait. A read is always outstanding, so that a server that writes can
// never block one that is written to. At most one write is in flight: whoever
// finds none claims it (`writing_`), and its completion sends the next request
// the session has. Messages are encoded and decoded by the one holder of the
// write and the read, outside the lock.

#ifndef PACKHOUSE_CLIENT_PACK_CALL_H_
#define PACKHOUSE_CLIENT_PACK_CALL_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "client/remote_server.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "session/client_session.h"

namespace packhouse {

// Thread-safe. The methods do what those of PackStream do.
class PackCall final
    : private grpc::ClientBidiReactor<v1::PackRequest, v1::PackResponse> {
 public:
  // Starts the call. Requires a valid spec and batch_sequences as
  // ClientSession does.
  PackCall(const RemoteServer& server, const PackSpec& spec,
           uint32_t batch_sequences);

  // Requires that Close returned true.
  ~PackCall() override = default;

  // Waits until the server has said that the stream is open.
  absl::Status WaitOpened();

  absl::Status Add(absl::Span<const uint32_t> lengths);
  absl::Status Flush();
  absl::Status Wait();
  absl::Status End();
  absl::StatusOr<Packs> Take();

  // Cancels the call if it has not ended, and waits until gRPC has let go of
  // this object, which takes no answer of the server. False if that did not
  // happen within the limit: then the object must not be destroyed.
  bool Close();

 private:
  // Reactions of gRPC.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  // Starts the next write if none is in flight and the session has a request.
  void SendNext() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits for a condition, one of the next group, as long as the server lets
  // hear from it within each limit. Fails the call with Late(what) otherwise.
  absl::Status Await(bool (PackCall::*condition)() const,
                     absl::string_view what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsOpened() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsSettled() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Ends the call with an error of this side; the first one counts.
  void Fail(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // No further write is started; gRPC may call OnDone.
  void CloseWrites() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RemoteServer server_;
  const PackSpec spec_;
  const uint32_t batch_sequences_;
  grpc::ClientContext context_;

  // Keeps an Add together that has to wait in between.
  absl::Mutex input_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);

  // Owned by the write and by the read in flight.
  v1::PackRequest request_message_;
  v1::PackResponse response_message_;
  Response response_;

  absl::Mutex mutex_;
  ClientSession session_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // final once it is not OK
  uint64_t responses_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // Writes are started outside reactions too, which gRPC allows under a hold
  // only: it is kept until no write can follow.
  bool holding_ ABSL_GUARDED_BY(mutex_) = true;
  bool writes_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;  // gRPC has let go
};

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_PACK_CALL_H_
