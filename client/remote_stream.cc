// The session of a stream knows how to go on at any server. What is left to do
// here is to see that there is one: Connection holds the session and its lock,
// starts a call when the session has need of one, gives it up when it fails or
// is silent, and tries the next target. All of that is decided in one place,
// Advance, which looks at what is so and at the clock; whatever happens (the
// owner gives something, a call ends, an alarm goes off) changes a field and
// calls it. The alarm is set to the next time at which something can be due.

#include "client/remote_stream.h"

#include <grpcpp/alarm.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/fork_guard.h"
#include "client/pack_call.h"
#include "client/retry.h"
#include "packhouse/policy.h"

namespace packhouse {
namespace {

// How far Add may run ahead of the writes, in batches. Enough that the sender
// has work while the adding thread sleeps until half of it is gone; a bound on
// memory where there is no server or no credit.
constexpr uint64_t kMaxUnsentBatches = 16;

// gRPC lets go of a cancelled call at once, whatever the server does.
constexpr absl::Duration kEndLimit = absl::Seconds(1);

constexpr absl::Time kNever = absl::InfiniteFuture();

// Of a clock that nobody sets.
absl::Time SteadyNow() {
  return absl::UnixEpoch() +
         absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// A time of SteadyNow for gRPC.
gpr_timespec ToGrpc(absl::Time time) {
  const absl::Duration left =
      std::max(time - SteadyNow(), absl::ZeroDuration());
  return gpr_time_add(
      gpr_now(GPR_CLOCK_MONOTONIC),
      gpr_time_from_micros(absl::ToInt64Microseconds(left) + 1, GPR_TIMESPAN));
}

// Thread-safe. The methods do what those of PackStream do.
class Connection final : public PackCall::Stream,
                         public std::enable_shared_from_this<Connection> {
 public:
  Connection(const std::vector<RemoteServer>& targets, const PackSpec& spec,
             const ClientOptions& options, ClientSession session)
      : targets_(targets),
        spec_(spec),
        options_(options),
        session_(std::move(session)) {}

  // Begins to connect, and waits until a server has the stream.
  absl::Status Open();

  absl::Status Add(absl::Span<const uint32_t> lengths);
  absl::Status Flush();
  absl::Status Wait();
  absl::Status End();
  absl::StatusOr<Packs> Take();
  std::string Save();
  StreamPosition position();

  // Abandons the stream. Nothing of it happens afterwards.
  void Close();

 private:
  // What the call asks and tells.
  absl::optional<Request> NextRequest(const PackCall* call) override;
  bool Receive(const PackCall* call,
               const absl::StatusOr<Response>& response) override;
  void EndCall(const PackCall* call, const grpc::Status& status) override;

  // Does what is due, and sends what may be sent.
  void Move() ABSL_LOCKS_EXCLUDED(mutex_);

  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Parts of it. Each does what is due by `now` and returns when it has to be
  // looked at again.
  absl::Time FlushIfIdle(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Time SeekAnswer(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // True while a server owes something, or would if there were one.
  bool NeedsServer() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void Connect(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Disconnect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // A try has failed: the next target's turn comes after a while.
  void FailTry(const absl::Status& cause) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The stream has failed; the first error counts.
  void Fail(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Has Move called at that time, or before.
  void WakeAt(absl::Time time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Waits for one of the conditions. All of them come true when the stream
  // fails, which is when its time limits say so at the latest.
  absl::Status Await(bool (Connection::*condition)() const)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsOpened() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsSettled() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsEnded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RemoteServer& target() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return targets_[target_];
  }

  const std::vector<RemoteServer> targets_;
  const PackSpec spec_;
  const ClientOptions options_;

  // Keeps an Add together that has to wait in between.
  absl::Mutex input_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);

  absl::Mutex mutex_;
  ClientSession session_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // final once it is not OK
  absl::Time given_at_ ABSL_GUARDED_BY(mutex_);  // the last sequences

  std::shared_ptr<PackCall> call_ ABSL_GUARDED_BY(mutex_);  // null between them
  absl::Time heard_at_ ABSL_GUARDED_BY(mutex_);       // from it, or its start
  size_t target_ ABSL_GUARDED_BY(mutex_) = 0;         // the call's, or the next
  uint64_t incarnation_ ABSL_GUARDED_BY(mutex_) = 0;  // of the last call

  // Since when a server is needed and none has answered an input.
  absl::Time unanswered_since_ ABSL_GUARDED_BY(mutex_) = kNever;
  absl::Status last_cause_ ABSL_GUARDED_BY(mutex_) =  // of a failed try
      absl::UnavailableError("no server was tried");
  absl::Time next_try_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  Backoff backoff_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
  absl::Time alarm_at_ ABSL_GUARDED_BY(mutex_) = kNever;
};

absl::Status Connection::Open() {
  Move();
  absl::MutexLock lock(&mutex_);
  return Await(&Connection::IsOpened);
}

absl::Status Connection::Add(absl::Span<const uint32_t> lengths) {
  absl::MutexLock input_lock(&input_mutex_);
  uint64_t first_ordinal;
  {
    absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    first_ordinal = session_.given_sequences();
  }
  // All of them before the first is given: they are taken together or not.
  absl::Status status = CheckLengths(spec_, lengths, first_ordinal);
  if (!status.ok()) return status;
  const uint64_t max_unsent =
      kMaxUnsentBatches * uint64_t{options_.batch_sequences};
  do {
    const auto piece = lengths.subspan(0, options_.batch_sequences);
    lengths.remove_prefix(piece.size());
    {
      absl::MutexLock lock(&mutex_);
      if (session_.unsent_sequences() >= max_unsent) {
        status = Await(&Connection::HasRoom);
        if (!status.ok()) return status;
      }
      if (!status_.ok()) return status_;
      status = session_.Add(piece);
      if (!status.ok()) return status;
      if (!piece.empty()) given_at_ = SteadyNow();
    }
    Move();
  } while (!lengths.empty());
  return absl::OkStatus();
}

absl::Status Connection::Flush() {
  absl::MutexLock input_lock(&input_mutex_);
  {
    absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    absl::Status status = session_.Flush();
    if (!status.ok()) return status;
  }
  Move();
  return absl::OkStatus();
}

absl::Status Connection::Wait() {
  {
    absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    session_.Push();
  }
  Move();
  absl::MutexLock lock(&mutex_);
  return Await(&Connection::IsSettled);
}

absl::Status Connection::End() {
  {
    absl::MutexLock input_lock(&input_mutex_);
    absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    session_.End();
  }
  Move();
  absl::MutexLock lock(&mutex_);
  return Await(&Connection::IsEnded);
}

absl::StatusOr<Packs> Connection::Take() {
  absl::MutexLock lock(&mutex_);
  Packs packs = session_.Take();
  if (packs.empty() && !status_.ok()) return status_;
  return packs;
}

std::string Connection::Save() {
  absl::MutexLock lock(&mutex_);
  return session_.Save();
}

StreamPosition Connection::position() {
  absl::MutexLock lock(&mutex_);
  return session_.position();
}

void Connection::Close() {
  std::shared_ptr<PackCall> call;
  {
    absl::MutexLock lock(&mutex_);
    call = call_;
    Disconnect();
    Fail(absl::CancelledError("the stream was abandoned"));
  }
  if (call != nullptr) call->WaitEnded(kEndLimit);
}

absl::optional<Request> Connection::NextRequest(const PackCall* call) {
  absl::MutexLock lock(&mutex_);
  if (call != call_.get()) return absl::nullopt;
  absl::optional<Request> request = session_.NextRequest();
  // A batch may be full before there was a need to send it.
  if (request.has_value() && unanswered_since_ == kNever) {
    unanswered_since_ = SteadyNow();
    WakeAt(unanswered_since_ + options_.answer_within);
  }
  return request;
}

bool Connection::Receive(const PackCall* call,
                         const absl::StatusOr<Response>& response) {
  {
    absl::MutexLock lock(&mutex_);
    if (call != call_.get()) return false;
    const absl::Time now = SteadyNow();
    const uint64_t answered = session_.answered_number();
    const absl::Status status =
        response.ok() ? session_.Receive(*response) : response.status();
    if (!status.ok()) {
      Fail(target().Error(status.code(), status.message()));
      return false;
    }
    heard_at_ = now;
    if (session_.answered_number() > answered) {
      backoff_.Reset();
      unanswered_since_ = NeedsServer() ? now : kNever;
    }
    if (!session_.draining() || targets_.size() == 1) return true;
    Disconnect();
    target_ = (target_ + 1) % targets_.size();
  }
  Move();
  return false;
}

void Connection::EndCall(const PackCall* call, const grpc::Status& status) {
  {
    absl::MutexLock lock(&mutex_);
    if (call != call_.get()) return;
    const bool was_needed = NeedsServer();
    call_.reset();
    if (session_.ended() || !status_.ok()) return;
    if (status.ok()) {
      Fail(target().Error(absl::StatusCode::kInternal,
                          "the stream was closed before its end"));
    } else if (!IsWorthRetry(status)) {
      Fail(target().Error(status));
    } else if (was_needed) {
      FailTry(target().Error(status));
    }
    // One that was not needed is made anew when it is.
  }
  Move();
}

void Connection::Move() {
  std::shared_ptr<PackCall> call;
  {
    absl::MutexLock lock(&mutex_);
    Advance();
    call = call_;
  }
  if (call != nullptr) call->SendNext();
}

void Connection::Advance() {
  if (!status_.ok()) return;
  const absl::Time now = SteadyNow();
  const absl::Time next_flush = FlushIfIdle(now);
  WakeAt(std::min(next_flush, SeekAnswer(now)));
}

absl::Time Connection::FlushIfIdle(absl::Time now) {
  if (!session_.has_unflushed()) return kNever;
  const absl::Time due = given_at_ + options_.flush_after;
  if (now < due) return due;
  session_.Flush().IgnoreError();  // fails after the end only
  return kNever;
}

absl::Time Connection::SeekAnswer(absl::Time now) {
  if (!NeedsServer()) {
    unanswered_since_ = kNever;
    return kNever;
  }
  unanswered_since_ = std::min(unanswered_since_, now);
  const absl::Time give_up_at =
      options_.unavailable_for > absl::ZeroDuration()
          ? unanswered_since_ + options_.unavailable_for
          : kNever;
  if (now >= give_up_at) {
    if (call_ != nullptr) last_cause_ = target().Silent(now - heard_at_);
    Fail(NobodyAnswered(targets_, options_.unavailable_for, last_cause_));
    return kNever;
  }
  const auto silent_at = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::max(heard_at_, unanswered_since_) + options_.answer_within;
  };
  if (call_ != nullptr && now >= silent_at()) {
    FailTry(target().Silent(options_.answer_within));
    if (!status_.ok()) return kNever;
  }
  if (call_ == nullptr && now >= next_try_) Connect(now);
  return std::min(give_up_at, call_ != nullptr ? silent_at() : next_try_);
}

bool Connection::NeedsServer() const {
  return session_.needs_connection() ||
         (call_ != nullptr && session_.awaits_answer());
}

void Connection::Connect(absl::Time now) {
  // Grows from call to call, and from one process to the next.
  incarnation_ = std::max(
      incarnation_ + 1, static_cast<uint64_t>(absl::ToUnixMicros(absl::Now())));
  session_.Connect(incarnation_);
  heard_at_ = now;
  call_ = PackCall::Start(target(), shared_from_this());
}

void Connection::Disconnect() {
  if (call_ == nullptr) return;
  call_->Cancel();
  call_.reset();
}

void Connection::FailTry(const absl::Status& cause) {
  Disconnect();
  if (options_.unavailable_for == absl::ZeroDuration()) {
    return Fail(OnlyTryFailed(cause));
  }
  last_cause_ = cause;
  target_ = (target_ + 1) % targets_.size();
  next_try_ = SteadyNow() + backoff_.Next();
}

void Connection::Fail(const absl::Status& status) {
  if (!status_.ok()) return;
  status_ = status;
  Disconnect();
  alarm_.reset();
}

void Connection::WakeAt(absl::Time time) {
  if (time >= alarm_at_) return;
  alarm_at_ = time;
  alarm_ = std::make_unique<grpc::Alarm>();
  alarm_->Set(ToGrpc(time), [weak = weak_from_this()](bool is_due) {
    const std::shared_ptr<Connection> self = weak.lock();
    if (!is_due || self == nullptr) return;  // replaced, or over
    {
      absl::MutexLock lock(&self->mutex_);
      self->alarm_at_ = kNever;
    }
    self->Move();
  });
}

absl::Status Connection::Await(bool (Connection::*condition)() const) {
  mutex_.Await(absl::Condition(this, condition));
  return status_;
}

bool Connection::IsOpened() const { return !status_.ok() || session_.opened(); }

bool Connection::HasRoom() const {
  return !status_.ok() ||
         session_.unsent_sequences() <=
             kMaxUnsentBatches / 2 * uint64_t{options_.batch_sequences};
}

bool Connection::IsSettled() const {
  return !status_.ok() || session_.settled();
}

bool Connection::IsEnded() const { return !status_.ok() || session_.ended(); }

// Keeps a connection out of forked children.
class RemoteStream final : public PackStream {
 public:
  explicit RemoteStream(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  ~RemoteStream() override {
    if (GrpcDiedInFork()) {
      // Not even to be destroyed: its locks may be held for ever.
      new std::shared_ptr<Connection>(std::move(connection_));
    } else {
      connection_->Close();
    }
  }

  absl::Status Add(absl::Span<const uint32_t> lengths) override {
    absl::Status status = CheckGrpcAlive();
    return status.ok() ? connection_->Add(lengths) : status;
  }

  absl::Status Flush() override {
    absl::Status status = CheckGrpcAlive();
    return status.ok() ? connection_->Flush() : status;
  }

  absl::Status Wait() override {
    absl::Status status = CheckGrpcAlive();
    return status.ok() ? connection_->Wait() : status;
  }

  absl::Status End() override {
    absl::Status status = CheckGrpcAlive();
    return status.ok() ? connection_->End() : status;
  }

  absl::StatusOr<Packs> Take() override {
    absl::Status status = CheckGrpcAlive();
    if (!status.ok()) return status;
    return connection_->Take();
  }

  absl::StatusOr<std::string> Save() override {
    absl::Status status = CheckGrpcAlive();
    if (!status.ok()) return status;
    return connection_->Save();
  }

  absl::StatusOr<StreamPosition> position() override {
    absl::Status status = CheckGrpcAlive();
    if (!status.ok()) return status;
    return connection_->position();
  }

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PackStream>> StartRemoteStream(
    const std::vector<RemoteServer>& targets, const PackSpec& spec,
    const ClientOptions& options, ClientSession session) {
  const auto connection =
      std::make_shared<Connection>(targets, spec, options, std::move(session));
  auto stream = std::make_unique<RemoteStream>(connection);
  absl::Status status = connection->Open();
  if (!status.ok()) return status;
  return stream;
}

}  // namespace packhouse
