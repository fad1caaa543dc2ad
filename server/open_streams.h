// The streams that a server has open: who may come in, and how all of them are
// ended when the server stops.

#ifndef PACKHOUSE_SERVER_OPEN_STREAMS_H_
#define PACKHOUSE_SERVER_OPEN_STREAMS_H_

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace packhouse {

// One stream, as far as its server ends it.
class OpenStream {
 public:
  // Ends the stream with `status` unless its end is decided already. Returns
  // at once; the stream is gone when it has left OpenStreams.
  virtual void End(const absl::Status& status) = 0;

 protected:
  ~OpenStream() = default;
};

// Thread-safe. Its lock comes before those of streams: a stream must not hold
// its own when it calls.
class OpenStreams {
 public:
  // Lets in the stream that `make` returns. Once closed it returns false and
  // does not call `make`.
  bool Enter(absl::FunctionRef<OpenStream*()> make);

  // The stream is over. Nobody calls it afterwards, so it may be deleted.
  void Leave(OpenStream* stream);

  // Lets nobody in from here on.
  void Close();
  bool closed() const;

  // True if no stream is open; waits for that up to the limit.
  bool AwaitNone(absl::Duration limit) const;

  // Ends all that are open.
  void EndAll(const absl::Status& status);

 private:
  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_set<OpenStream*> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_OPEN_STREAMS_H_
