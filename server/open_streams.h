// The streams that a server has open: who may come in, which connection has a
// stream, and how something is said to all of them.

#ifndef PACKHOUSE_SERVER_OPEN_STREAMS_H_
#define PACKHOUSE_SERVER_OPEN_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "packhouse/v1/admin.pb.h"

namespace packhouse {

// One Pack call, as far as its server rules it. All of these return at once and
// do nothing to a stream whose end is decided already.
class OpenStream {
 public:
  // Ends the stream with `status`. It is gone when it has left OpenStreams.
  virtual void End(const absl::Status& status) = 0;

  // Tells the client that the server stops when the grace is over.
  virtual void Drain(double grace_seconds) = 0;

  // Time has passed: ends the stream if it has been idle for too long.
  virtual void Tick(absl::Time now) = 0;

  virtual void Describe(absl::Time now, v1::StreamStatus* status) const = 0;

 protected:
  ~OpenStream() = default;

 private:
  friend class OpenStreams;

  // Under the lock of OpenStreams.
  uint64_t number_ = 0;
  bool opened_ = false;
  std::string name_;  // empty for a stream without
};

// Streams without an `open` that there is always room for: they take little,
// and silent ones must not keep others out of a server with few streams.
inline constexpr size_t kMinOpeningStreams = 1024;

// Thread-safe. Its lock comes before those of streams: a stream must not hold
// its own when it calls.
class OpenStreams {
 public:
  explicit OpenStreams(size_t max_streams) : max_streams_(max_streams) {}

  // Lets in the stream that `make` returns. UNAVAILABLE once closed;
  // RESOURCE_EXHAUSTED while as many streams are there that have sent no `open`
  // as may be open, and kMinOpeningStreams. Then it does not call `make`.
  absl::Status Enter(absl::FunctionRef<OpenStream*()> make);

  // The stream has sent `open`. `owner` is who its client is: a name is his, so
  // that nobody else can take a stream over. `id` is empty for a stream
  // without.
  //
  // Of two connections with one name the larger incarnation has the stream:
  // the other is ended with ABORTED, be it this one or the one that is there.
  // UNAVAILABLE once closed, RESOURCE_EXHAUSTED where as many streams are open
  // as may be.
  absl::Status Admit(OpenStream* stream, const std::string& owner,
                     const std::string& id, uint64_t incarnation);

  // The stream is over. Nobody calls it afterwards, so it may be deleted.
  void Leave(OpenStream* stream);

  // Lets nobody in from here on.
  void Close();
  bool closed() const;

  // True if no stream is there; waits for that up to the limit.
  bool AwaitNone(absl::Duration limit) const;

  // Calls `use` with the streams that are there and their numbers, oldest
  // first, from the first whose number is larger than `after`; until it returns
  // false.
  void ForEach(
      uint64_t after,
      absl::FunctionRef<bool(uint64_t number, OpenStream& stream)> use) const;
  void ForEach(absl::FunctionRef<void(OpenStream& stream)> use) const;

  size_t size() const;
  size_t max_streams() const { return max_streams_; }

 private:
  struct Holder {
    OpenStream* stream;
    uint64_t incarnation;
  };

  const size_t max_streams_;
  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t opened_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, OpenStream*> streams_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Holder> names_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_OPEN_STREAMS_H_
