// The protocol without a wire: each stream is a client session and a server
// session that hand their messages to each other. So a stream in this process
// is what one in a sidecar is, its saved states are of one kind, and there is
// nothing to wait for.

#include "client/in_process_client.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/stream_id.h"
#include "packhouse/plan.h"
#include "session/client_session.h"
#include "session/server_session.h"

namespace packhouse {
namespace {

SessionLimits NoLimits() {
  SessionLimits limits;
  limits.trusts_client = true;
  return limits;
}

class InProcessStream final : public PackStream {
 public:
  InProcessStream(absl::Duration flush_after, ClientSession session)
      : flush_after_(flush_after),
        client_(std::move(session)),
        server_(NoLimits(), /*server_incarnation=*/0) {
    client_.Connect(/*incarnation=*/1);
  }

  // OK if the server session takes the stream.
  absl::Status Open() {
    absl::MutexLock lock(&mutex_);
    return Exchange();
  }

  absl::Status Add(absl::Span<const uint32_t> lengths) override {
    absl::MutexLock lock(&mutex_);
    absl::Status status = FlushIfIdle();
    if (status.ok()) status = client_.Add(lengths);
    if (!status.ok()) return status;
    if (!lengths.empty()) given_at_ = absl::Now();
    return Exchange();
  }

  absl::Status Flush() override {
    absl::MutexLock lock(&mutex_);
    absl::Status status = client_.Flush();
    return status.ok() ? Exchange() : status;
  }

  absl::Status Wait() override {
    absl::MutexLock lock(&mutex_);
    return FlushIfIdle();
  }

  absl::Status End() override {
    absl::MutexLock lock(&mutex_);
    client_.End();
    return Exchange();
  }

  absl::StatusOr<Packs> Take() override {
    absl::MutexLock lock(&mutex_);
    FlushIfIdle().IgnoreError();  // status_ has it
    Packs packs = client_.Take();
    if (packs.empty() && !status_.ok()) return status_;
    return packs;
  }

  absl::StatusOr<std::string> Save() override {
    absl::MutexLock lock(&mutex_);
    responses_.clear();
    server_.AppendSnapshot(&responses_);
    Deliver();
    return client_.Save();
  }

  absl::StatusOr<StreamPosition> position() override {
    absl::MutexLock lock(&mutex_);
    return client_.position();
  }

 private:
  // Has every input answered.
  absl::Status Exchange() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    client_.Push();
    while (status_.ok()) {
      const absl::optional<Request> request = client_.NextRequest();
      if (!request.has_value()) break;
      responses_.clear();
      status_ = server_.Receive(*request, &responses_);
      Deliver();
    }
    return status_;
  }

  void Deliver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const Response& response : responses_) {
      if (status_.ok()) status_ = client_.Receive(response);
    }
  }

  // Nothing can be seen of a stream between two calls, so that it is early
  // enough to flush it in the second.
  absl::Status FlushIfIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (flush_after_ == absl::InfiniteDuration() || !client_.has_unflushed() ||
        absl::Now() < given_at_ + flush_after_) {
      return status_;
    }
    absl::Status status = client_.Flush();
    return status.ok() ? Exchange() : status;
  }

  const absl::Duration flush_after_;
  absl::Mutex mutex_;
  ClientSession client_ ABSL_GUARDED_BY(mutex_);
  ServerSession server_ ABSL_GUARDED_BY(mutex_);
  std::vector<Response> responses_ ABSL_GUARDED_BY(mutex_);  // for its memory
  absl::Time given_at_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // final once it is not OK
};

class InProcessClient final : public Client {
 public:
  explicit InProcessClient(const ClientOptions& options) : options_(options) {}

  using Client::OpenStream;
  absl::StatusOr<std::unique_ptr<PackStream>> OpenStream(
      const PackSpec& spec, absl::string_view stream_id) override {
    absl::Status status = CheckStream(spec, stream_id);
    if (!status.ok()) return status;
    return Start(
        ClientSession(spec, options_.batch_sequences, StreamId(stream_id)));
  }

  absl::StatusOr<std::unique_ptr<PackStream>> ResumeStream(
      const PackSpec& spec, absl::string_view state) override {
    absl::Status status = ValidateSpec(spec);
    if (!status.ok()) return status;
    absl::StatusOr<ClientSession> session =
        ClientSession::Restore(spec, options_.batch_sequences, state);
    if (!session.ok()) return session.status();
    return Start(*std::move(session));
  }

  absl::StatusOr<Packs> Plan(absl::Span<const uint32_t> lengths,
                             const PackSpec& spec) override {
    return packhouse::Plan(lengths, spec);
  }

  absl::Status CheckHealth() override { return absl::OkStatus(); }

 private:
  absl::StatusOr<std::unique_ptr<PackStream>> Start(ClientSession session) {
    auto stream = std::make_unique<InProcessStream>(options_.flush_after,
                                                    std::move(session));
    absl::Status status = stream->Open();
    if (!status.ok()) return status;
    return stream;
  }

  const ClientOptions options_;
};

}  // namespace

std::unique_ptr<Client> MakeInProcessClient(const ClientOptions& options) {
  return std::make_unique<InProcessClient>(options);
}

}  // namespace packhouse
