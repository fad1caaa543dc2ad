#include "server/open_streams.h"

namespace packhouse {

bool OpenStreams::Enter(absl::FunctionRef<OpenStream*()> make) {
  absl::MutexLock lock(&mutex_);
  if (closed_) return false;
  streams_.insert(make());
  return true;
}

void OpenStreams::Leave(OpenStream* stream) {
  absl::MutexLock lock(&mutex_);
  streams_.erase(stream);
}

void OpenStreams::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

bool OpenStreams::closed() const {
  absl::MutexLock lock(&mutex_);
  return closed_;
}

bool OpenStreams::AwaitNone(absl::Duration limit) const {
  absl::MutexLock lock(&mutex_);
  auto none = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return streams_.empty();
  };
  return mutex_.AwaitWithTimeout(absl::Condition(&none), limit);
}

void OpenStreams::EndAll(const absl::Status& status) {
  // Under the lock, so that none of them leaves meanwhile.
  absl::MutexLock lock(&mutex_);
  for (OpenStream* stream : streams_) stream->End(status);
}

}  // namespace packhouse
