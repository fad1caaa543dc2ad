#include "server/packer_service.h"

#include <deque>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "packhouse/plan.h"
#include "session/codec/codec.h"

namespace packhouse {
namespace {

// Both libraries have the codes of google.rpc.Code.
grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message()));
}

absl::Status Stopping() {
  return absl::UnavailableError("the server is stopping");
}

uint64_t DrawIncarnation() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

// One Pack stream: moves messages between gRPC and a ServerSession.
//
// gRPC allows one read and one write at a time, and Finish once, with no write
// on the way. So responses wait in a queue, and one function, Advance, starts
// whatever may be started now; every reaction notes what has happened and calls
// it; so does the server when it ends the stream. gRPC runs reactions on
// threads of its own, never inside the call that starts an operation, so that
// operations may be started under the mutex.
//
// A client that does not read fills the queue; the server then stops reading
// from it, until HTTP/2 flow control stops the client. Credit alone would not:
// a client can ignore it.
class PackReactor final
    : public grpc::ServerBidiReactor<v1::PackRequest, v1::PackResponse>,
      public OpenStream {
 public:
  // Is let into `streams` and leaves it at the end.
  PackReactor(const SessionLimits& limits, uint64_t incarnation,
              const grpc::CallbackServerContext* context, OpenStreams* streams,
              Metrics* metrics, Log* log)
      : context_(context),
        peer_(context->peer()),
        streams_(streams),
        log_(log),
        session_(limits, incarnation),
        meter_(metrics) {
    absl::MutexLock lock(&mutex_);
    Advance();
  }

  void End(const absl::Status& status) override ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    EndWith(status);
    Advance();
  }

  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (outcome_.has_value()) return;  // what still comes is not taken
      receiving_ = true;
    }
    absl::Status status;
    if (ok) {
      const Request request = Decode(request_);
      status = session_.Receive(request, &answers_);
      meter_.Update(session_);
    } else {
      status = absl::FailedPreconditionError(
          "the client closed its side, or sent something that does not parse, "
          "before `end`");
    }
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    receiving_ = false;
    if (!ok) broken_ = true;
    for (Response& answer : answers_) Enqueue(std::move(answer));
    answers_.clear();
    if (!status.ok() || session_.ended()) EndWith(status);
    Advance();
  }

  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (!ok) {
      broken_ = true;
      queue_.clear();
      EndWith(absl::CancelledError("the client went away"));
    }
    Advance();
  }

  // The last reaction.
  void OnDone() override ABSL_LOCKS_EXCLUDED(mutex_) {
    const bool stopping = streams_->closed();
    {
      absl::MutexLock lock(&mutex_);
      if (broken_) CountEnd(BrokenStatus(stopping));
    }
    streams_->Leave(this);
    delete this;
  }

 private:
  // Responses that may wait to be written while requests are still read. A few
  // keep the connection busy; each has up to kMaxResponseUnits.
  static constexpr size_t kMaxQueuedResponses = 8;

  // A credit replaces an earlier one, so one that comes alone needs no message
  // of its own while another response still waits.
  void Enqueue(Response answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (std::holds_alternative<std::monostate>(answer.event) &&
        !queue_.empty()) {
      queue_.back().credit = answer.credit;
    } else {
      queue_.push_back(std::move(answer));
    }
  }

  // The first outcome holds; what is queued is sent before it.
  void EndWith(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!outcome_.has_value()) outcome_ = status;
  }

  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!writing_ && !finished_) {
      if (!queue_.empty()) {
        Encode(queue_.front(), &response_);
        queue_.pop_front();
        writing_ = true;
        StartWrite(&response_);
      } else if (outcome_.has_value() && !receiving_) {
        finished_ = true;
        // First, so that a client which has seen the end finds it counted.
        if (!broken_) CountEnd(*outcome_);
        Finish(ToGrpc(*outcome_));
      }
    }
    if (!reading_ && !outcome_.has_value() &&
        queue_.size() < kMaxQueuedResponses) {
      reading_ = true;
      StartRead(&request_);
    }
  }

  // How a stream ended on which an operation failed: only once all is done
  // does gRPC know whether the call was cut or the client had said all it
  // wanted to.
  absl::Status BrokenStatus(bool stopping) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!context_->IsCancelled()) return *outcome_;
    return stopping ? Stopping() : absl::CancelledError("the client went away");
  }

  void CountEnd(const absl::Status& status) {
    meter_.End(status.code());
    if (status.ok() || log_ == nullptr) return;
    log_->Warning("stream ended",
                  {{"peer", peer_},
                   {"code", absl::StatusCodeToString(status.code())},
                   {"error", std::string(status.message())},
                   {"sequences", session_.counts().accepted.sequences},
                   {"packs", session_.counts().packs}});
  }

  const grpc::CallbackServerContext* const context_;
  const std::string peer_;  // gRPC forgets it with the connection
  OpenStreams* const streams_;
  Log* const log_;

  // Of the reading side: one read is on the way at a time, so OnReadDone never
  // runs twice at once, and the end is counted when it uses them no more (see
  // receiving_). Message objects are reused, for their memory.
  ServerSession session_;
  StreamMeter meter_;
  v1::PackRequest request_;
  std::vector<Response> answers_;

  absl::Mutex mutex_;
  std::deque<Response> queue_ ABSL_GUARDED_BY(mutex_);
  v1::PackResponse response_ ABSL_GUARDED_BY(mutex_);  // being written
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool receiving_ ABSL_GUARDED_BY(mutex_) = false;  // what was read
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;  // a read or a write failed
  // Set once nothing more is to be read: how the stream ends.
  absl::optional<absl::Status> outcome_ ABSL_GUARDED_BY(mutex_);
};

// A Pack call that is not let in.
class RefusingReactor final
    : public grpc::ServerBidiReactor<v1::PackRequest, v1::PackResponse> {
 public:
  explicit RefusingReactor(const absl::Status& status) {
    Finish(ToGrpc(status));
  }
  void OnDone() override { delete this; }
};

}  // namespace

PackerServiceImpl::PackerServiceImpl(const SessionLimits& limits,
                                     uint32_t max_plan_sequences,
                                     Metrics* metrics, Log* log)
    : limits_(limits),
      max_plan_sequences_(max_plan_sequences),
      incarnation_(DrawIncarnation()),
      metrics_(metrics),
      log_(log) {}

grpc::ServerBidiReactor<v1::PackRequest, v1::PackResponse>*
PackerServiceImpl::Pack(grpc::CallbackServerContext* context) {
  PackReactor* reactor = nullptr;
  const bool entered = streams_.Enter([&] {
    reactor = new PackReactor(limits_, incarnation_, context, &streams_,
                              metrics_, log_);
    return reactor;
  });
  if (!entered) return new RefusingReactor(Stopping());
  return reactor;
}

void PackerServiceImpl::EndStreams() { streams_.EndAll(Stopping()); }

absl::StatusOr<Packs> PackerServiceImpl::PlanWithin(
    absl::Span<const uint32_t> lengths, const PackSpec& spec) const {
  const auto too_long = [&](uint64_t count, absl::string_view what) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the list has ", count, " ", what, ", one call takes at most ",
        max_plan_sequences_, "; a stream takes any list"));
  };
  if (lengths.size() > max_plan_sequences_) {
    return too_long(lengths.size(), "sequences");
  }
  absl::Status status = ValidateSpec(spec);
  if (status.ok()) status = CheckLengths(spec, lengths, 0);
  if (!status.ok()) return status;
  const uint64_t units = CountIntake(spec, lengths).units;
  if (units > max_plan_sequences_) return too_long(units, "pieces");
  if (spec.budget_seconds > kMaxPlanBudgetSeconds) {
    return absl::ResourceExhaustedError(
        absl::StrCat("budget_seconds is ", spec.budget_seconds,
                     ", a server takes at most ", kMaxPlanBudgetSeconds));
  }
  if (spec.algorithm == "nnlshp") {
    return absl::InvalidArgumentError(
        "algorithm nnlshp has no bound on its time: plan in process");
  }
  return packhouse::Plan(lengths, spec);
}

grpc::ServerUnaryReactor* PackerServiceImpl::Plan(
    grpc::CallbackServerContext* context, const v1::PlanRequest* request,
    v1::PlanResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const PackSpec spec = Decode(request->spec());
  const absl::Span<const uint32_t> lengths = request->lengths();
  const absl::StatusOr<Packs> packs =
      streams_.closed() ? Stopping() : PlanWithin(lengths, spec);
  metrics_->CountPlan(packs.status().code(), lengths, spec,
                      packs.ok() ? *packs : Packs());
  if (packs.ok()) {
    Encode(PackList{1, *packs}, response->mutable_packs());
    reactor->Finish(grpc::Status::OK);
  } else {
    reactor->Finish(ToGrpc(packs.status()));
  }
  return reactor;
}

}  // namespace packhouse
