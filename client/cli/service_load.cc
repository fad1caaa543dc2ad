#include "client/cli/service_load.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/remote_server.h"
#include "client/retry.h"
#include "client/targets.h"
#include "net/address.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "session/codec/codec.h"
#include "session/messages.h"

namespace packhouse {
namespace {

using Clock = std::chrono::steady_clock;

uint64_t NsBetween(Clock::time_point from, Clock::time_point to) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count());
}

// How many streams are not over.
class Running {
 public:
  explicit Running(uint64_t streams) : streams_(streams) {}

  void Leave() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    --streams_;
  }

  // Waits until the time has come, or no stream is left: then false.
  bool AwaitTime(Clock::time_point time) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto none = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return streams_ == 0;
    };
    return !mutex_.AwaitWithTimeout(absl::Condition(&none),
                                    absl::FromChrono(time - Clock::now()));
  }

 private:
  absl::Mutex mutex_;
  uint64_t streams_ ABSL_GUARDED_BY(mutex_);
};

// One stream of the load. Whoever finds no write in flight claims it and
// encodes the next request, so that one message object serves all of them.
class LoadStream final
    : private grpc::ClientBidiReactor<v1::PackRequest, v1::PackResponse> {
 public:
  // Leaves `running` at the end. `lengths` has a batch at least; the first is
  // taken from `begin` on, as far as there is a whole one. Both must outlive
  // the stream. One that does not wait for its server fails, with the reason,
  // where it cannot connect at once.
  LoadStream(const RemoteServer& server, const LoadQuery& query,
             std::shared_ptr<const std::vector<uint32_t>> lengths, size_t begin,
             std::shared_ptr<Running> running, bool waits_for_server)
      : server_(server),
        running_(std::move(running)),
        lengths_(std::move(lengths)),
        answer_within_(query.client.answer_within),
        batch_sequences_(query.client.batch_sequences),
        begin_(begin),
        sent_at_(query.in_flight) {
    context_.set_wait_for_ready(waits_for_server);
    v1::PackerService::Stub stub(server_.channel());
    stub.async()->Pack(&context_, this);
    AddHold();  // writes are started outside reactions too
    StartRead(&response_);
    Open open;
    open.spec = query.spec;
    Encode(Request(open), &request_);
    writing_ = true;
    StartWrite(&request_);
    StartCall();
  }

  // Lets so many batches more go.
  void Allow(uint64_t batches) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    allowed_ += batches;
    SendNext();
  }

  // No batch is sent any more; the stream ends behind those that were.
  void End() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    SendNext();
  }

  // Waits until the server has opened the stream or it is over; it fails where
  // neither happens in time.
  void AwaitOpened(absl::Time deadline) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto opened = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return opened_ || done_;
    };
    if (!mutex_.AwaitWithDeadline(absl::Condition(&opened), deadline)) {
      Fail(server_.Silent(answer_within_));
    }
  }

  // Waits until gRPC has let go of this object, which may then be destroyed; a
  // call that is not over in time fails. False if gRPC keeps it even so.
  bool AwaitDone(absl::Time deadline) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (mutex_.AwaitWithDeadline(absl::Condition(&done_), deadline)) {
      return true;
    }
    Fail(server_.Silent(answer_within_));
    return mutex_.AwaitWithTimeout(absl::Condition(&done_), answer_within_);
  }

  // Adds what this stream did. Requires that it is done. `start` is when
  // batches were first allowed.
  void AddTo(Clock::time_point start, LoadResult* total) const
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (!status_.ok()) {
      ++total->failures[status_.code()];
      if (total->first_failure.ok()) total->first_failure = status_;
    }
    const uint64_t batches = round_trips_.count();
    total->batches += batches;
    total->sequences += batches * batch_sequences_;
    total->refused_batches += refused_batches_;
    total->packs += packs_;
    total->round_trips += round_trips_;
    total->worst_stream_p99_ns =
        std::max(total->worst_stream_p99_ns, round_trips_.QuantileNs(0.99));
    if (batches > 0) {
      total->seconds =
          std::max(total->seconds,
                   std::chrono::duration<double>(last_answer_ - start).count());
    }
  }

  bool opened() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return opened_;
  }

 private:
  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_) {
    const Clock::time_point now = Clock::now();
    absl::MutexLock lock(&mutex_);
    if (!ok) {
      CloseWrites();
      return;
    }
    if (response_.has_opened()) {
      opened_ = true;
      CheckBatchSize(response_.opened().max_batch_sequences());
    }
    refused_batches_ += response_.has_refused();
    packs_ += static_cast<uint64_t>(response_.packs().sizes_size());
    ended_ = ended_ || response_.has_ended();
    if (response_.has_credit()) {
      max_number_ = response_.credit().max_number();
      max_sequences_ = response_.credit().max_sequences();
      Settle(response_.credit().received_number(), now);
    }
    StartRead(&response_);
    SendNext();
  }

  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (!ok || writes_closed_) {
      CloseWrites();
    } else {
      SendNext();
    }
  }

  void OnDone(const grpc::Status& status) override ABSL_LOCKS_EXCLUDED(mutex_) {
    running_->Leave();
    absl::MutexLock lock(&mutex_);
    done_ = true;
    if (!status_.ok() || (status.ok() && ended_)) return;
    if (status.ok()) {
      status_ = server_.Error(absl::StatusCode::kInternal,
                              "the stream was closed before its end");
    } else {
      status_ = server_.Error(status);
      if (IsWorthRetry(status)) status_ = OnlyTryFailed(status_);
    }
  }

  // No credit would ever be enough for a batch that is larger.
  void CheckBatchSize(uint32_t max) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (batch_sequences_ <= max) return;
    Fail(server_.Error(
        absl::StatusCode::kInvalidArgument,
        absl::StrCat("a batch of ", batch_sequences_,
                     " sequences, the server takes at most ", max)));
  }

  // The inputs up to `number` are answered.
  void Settle(uint64_t number, Clock::time_point now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    number = std::min(number, sent_);  // the server may say what it likes
    for (; settled_ < number; ++settled_) {
      if (settled_ == batches_) return;  // the end is no batch
      round_trips_.Add(NsBetween(sent_at_[settled_ % sent_at_.size()], now));
      last_answer_ = now;
    }
  }

  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || writes_closed_ || !opened_ || sent_ >= max_number_) return;
    if (ending_) {
      request_.mutable_end()->set_number(++sent_);
      writes_closed_ = true;
      writing_ = true;
      StartWriteLast(&request_, grpc::WriteOptions());
      return;
    }
    if (batches_ == allowed_ || batches_ - settled_ == sent_at_.size() ||
        (batches_ + 1) * batch_sequences_ > max_sequences_) {
      return;
    }
    if (begin_ + batch_sequences_ > lengths_->size()) begin_ = 0;
    v1::Batch* batch = request_.mutable_batch();
    batch->set_number(++sent_);
    const auto first = lengths_->begin() + static_cast<ptrdiff_t>(begin_);
    batch->mutable_lengths()->Assign(first, first + batch_sequences_);
    begin_ += batch_sequences_;
    sent_at_[batches_ % sent_at_.size()] = Clock::now();
    ++batches_;
    writing_ = true;
    StartWrite(&request_);
  }

  // Ends the call with an error of this side; the first one counts.
  void Fail(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (status_.ok()) status_ = status;
    context_.TryCancel();
    CloseWrites();
  }

  // No further write is started; gRPC may call OnDone.
  void CloseWrites() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    writes_closed_ = true;
    if (writing_ || !holding_) return;
    holding_ = false;
    RemoveHold();
  }

  const RemoteServer server_;
  const std::shared_ptr<Running> running_;
  const std::shared_ptr<const std::vector<uint32_t>> lengths_;
  const absl::Duration answer_within_;
  const uint32_t batch_sequences_;
  grpc::ClientContext context_;

  mutable absl::Mutex mutex_;
  v1::PackRequest request_ ABSL_GUARDED_BY(mutex_);    // being written
  v1::PackResponse response_ ABSL_GUARDED_BY(mutex_);  // being read
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // final once it is not OK
  bool opened_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;  // gRPC has let go
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool writes_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool holding_ ABSL_GUARDED_BY(mutex_) = true;

  size_t begin_ ABSL_GUARDED_BY(mutex_);          // of the next batch
  uint64_t allowed_ ABSL_GUARDED_BY(mutex_) = 0;  // batches
  uint64_t batches_ ABSL_GUARDED_BY(mutex_) = 0;  // sent
  uint64_t sent_ ABSL_GUARDED_BY(mutex_) = 0;     // inputs: these and the end
  uint64_t settled_ ABSL_GUARDED_BY(mutex_) = 0;  // batches answered
  uint64_t max_number_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t max_sequences_ ABSL_GUARDED_BY(mutex_) = 0;

  // When the batches were sent that are on the way, as a ring.
  std::vector<Clock::time_point> sent_at_ ABSL_GUARDED_BY(mutex_);
  Clock::time_point last_answer_ ABSL_GUARDED_BY(mutex_);
  RoundTrips round_trips_ ABSL_GUARDED_BY(mutex_);
  uint64_t refused_batches_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t packs_ ABSL_GUARDED_BY(mutex_) = 0;
};

using Streams = std::vector<std::unique_ptr<LoadStream>>;

// Lets batches go for as long as the query says, or until no stream is left.
void Drive(const LoadQuery& query, Clock::time_point start, Running* running,
           Streams* streams) {
  const auto after = [start](double seconds) {
    return start + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(seconds));
  };
  if (query.batches_per_second > 0) {
    const auto batches = static_cast<uint64_t>(
        std::floor(query.seconds * query.batches_per_second));
    for (uint64_t i = 0; i < batches; ++i) {
      const double due = static_cast<double>(i) / query.batches_per_second;
      if (!running->AwaitTime(after(due))) return;
      (*streams)[i % streams->size()]->Allow(1);
    }
  } else if (query.seconds > 0) {
    constexpr uint64_t kEndless = uint64_t{1} << 62;
    for (auto& stream : *streams) stream->Allow(kEndless);
  }
  running->AwaitTime(after(query.seconds));
}

}  // namespace

absl::StatusOr<LoadResult> RunLoad(const LoadQuery& query,
                                   const std::vector<uint32_t>& lengths) {
  const absl::StatusOr<std::vector<Address>> targets =
      ParseTargets(query.client);
  if (!targets.ok()) return targets.status();
  if (targets->size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a load is for one server, and the target names ", targets->size()));
  }
  const uint32_t batch = query.client.batch_sequences;
  const auto repeated = std::make_shared<std::vector<uint32_t>>(lengths);
  while (repeated->size() < batch) {
    repeated->insert(repeated->end(), lengths.begin(), lengths.end());
  }
  const absl::Duration limit = query.client.answer_within;
  const auto running = std::make_shared<Running>(query.streams);
  Streams streams;
  std::vector<RemoteServer> servers;  // each with a connection of its own
  while (servers.size() < query.streams) {
    auto server = RemoteServer::Create(targets->front(), query.client.tls);
    if (!server.ok()) return server.status();
    servers.push_back(*std::move(server));
  }
  for (uint64_t i = 0; i < query.streams; ++i) {
    // Places of their own, far apart.
    constexpr uint64_t kStride = 7919;
    streams.push_back(std::make_unique<LoadStream>(
        servers[i], query, repeated, i * kStride * batch % repeated->size(),
        running, /*waits_for_server=*/i > 0));
    // The first says what is wrong with the server. The others may have to try
    // again, since so many may come at once that the system refuses some.
    if (i == 0) streams[0]->AwaitOpened(absl::Now() + limit);
    if (!streams[0]->opened()) break;
  }
  const absl::Time open_deadline = absl::Now() + limit;
  bool any_opened = false;
  for (auto& stream : streams) {
    stream->AwaitOpened(open_deadline);
    any_opened = any_opened || stream->opened();
  }
  const Clock::time_point start = Clock::now();
  if (any_opened) Drive(query, start, running.get(), &streams);
  for (auto& stream : streams) stream->End();

  const absl::Time end_deadline = absl::Now() + limit;
  LoadResult result;
  for (auto& stream : streams) {
    if (stream->AwaitDone(end_deadline)) {
      stream->AddTo(start, &result);
      continue;
    }
    static_cast<void>(stream.release());  // gRPC still has it
    return absl::InternalError("gRPC has not let go of a stream");
  }
  if (!any_opened) return result.first_failure;
  return result;
}

}  // namespace packhouse
