#include "server/open_streams.h"

#include <algorithm>

#include "server/refusal.h"

namespace packhouse {

absl::Status OpenStreams::Enter(absl::FunctionRef<OpenStream*()> make) {
  absl::MutexLock lock(&mutex_);
  if (closed_) return Stopping();
  const size_t opening = streams_.size() - opened_;
  const size_t max_opening = std::max(max_streams_, kMinOpeningStreams);
  if (opening >= max_opening) {
    return ServerFull("streams without `open`", opening + 1, max_opening);
  }
  OpenStream* stream = make();
  stream->number_ = ++last_number_;
  streams_.emplace(stream->number_, stream);
  return absl::OkStatus();
}

absl::Status OpenStreams::Admit(OpenStream* stream, const std::string& owner,
                                const std::string& id, uint64_t incarnation) {
  absl::MutexLock lock(&mutex_);
  if (closed_) return Stopping();
  if (!id.empty()) {
    // No name of a certificate has a byte 0.
    std::string name = owner + '\0' + id;
    const auto found = names_.find(name);
    if (found != names_.end()) {
      const Holder& holder = found->second;
      if (incarnation <= holder.incarnation) {
        return Fenced(incarnation, holder.incarnation);
      }
      holder.stream->End(Fenced(holder.incarnation, incarnation));
      holder.stream->name_.clear();
    }
    names_[name] = {stream, incarnation};
    stream->name_ = std::move(name);
  }
  // After the fence: the stream that it has ended may be what fills the server,
  // and is gone when this one is tried again.
  if (opened_ >= max_streams_) {
    return ServerFull("streams", opened_ + 1, max_streams_);
  }
  stream->opened_ = true;
  ++opened_;
  return absl::OkStatus();
}

void OpenStreams::Leave(OpenStream* stream) {
  absl::MutexLock lock(&mutex_);
  streams_.erase(stream->number_);
  opened_ -= stream->opened_;
  if (!stream->name_.empty()) names_.erase(stream->name_);
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

void OpenStreams::ForEach(
    uint64_t after, absl::FunctionRef<bool(uint64_t, OpenStream&)> use) const {
  // Under the lock, so that none of them leaves meanwhile.
  absl::MutexLock lock(&mutex_);
  for (auto at = streams_.upper_bound(after); at != streams_.end(); ++at) {
    if (!use(at->first, *at->second)) return;
  }
}

void OpenStreams::ForEach(absl::FunctionRef<void(OpenStream&)> use) const {
  ForEach(0, [use](uint64_t, OpenStream& stream) {
    use(stream);
    return true;
  });
}

size_t OpenStreams::size() const {
  absl::MutexLock lock(&mutex_);
  return streams_.size();
}

}  // namespace packhouse
