#include "server/pack_reactor.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/time/clock.h"
#include "server/log.h"
#include "server/refusal.h"
#include "server/work_cost.h"
#include "session/codec/codec.h"
#include "session/limits.h"
#include "session/reason.h"

namespace packhouse {
namespace {

// A stream that was ended and whose client does not take the last words is cut
// off after this.
constexpr absl::Duration kGoodbyeLimit = absl::Seconds(10);

// A message up to this size is kept for the next one: then a stream of small
// answers allocates nothing, and an idle one holds no large buffer.
constexpr uint64_t kSpareUnits = kMaxQueuedUnits;

// What a response takes until it is written, in units of kUnitBytes: a message
// has that for an ordinal and a size.
uint64_t UnitsOf(const Response& response) {
  constexpr uint64_t kUnitBytes = 8;
  constexpr uint64_t kEmptyUnits = 32;
  uint64_t units = kEmptyUnits;
  if (const auto* list = std::get_if<PackList>(&response.event)) {
    units += list->packs.ordinals.size();
  } else if (const auto* snapshot = std::get_if<Snapshot>(&response.event)) {
    units += snapshot->state.size() / kUnitBytes;
  } else if (const auto* refused = std::get_if<Refused>(&response.event)) {
    units += refused->status.message().size() / kUnitBytes;
  }
  return units;
}

// Who a client is, as far as its connection proves it: the names in its
// certificate, nothing where there is none.
std::string OwnerOf(const grpc::CallbackServerContext& context) {
  std::string owner;
  for (const grpc::string_ref& name :
       context.auth_context()->GetPeerIdentity()) {
    owner.append(name.data(), name.size()).push_back('\n');
  }
  return owner;
}

}  // namespace

PackReactor* PackReactor::Start(ServiceHost* host,
                                grpc::CallbackServerContext* context) {
  std::shared_ptr<PackReactor> reactor(new PackReactor(host, context));
  reactor->self_ = reactor;
  absl::MutexLock lock(&reactor->mutex_);
  reactor->Advance();
  return reactor.get();
}

PackReactor::PackReactor(ServiceHost* host,
                         grpc::CallbackServerContext* context)
    : host_(host),
      context_(context),
      peer_(context->peer()),
      started_at_(absl::Now()),
      session_(host->options.limits, host->incarnation),
      meter_(host->metrics),
      heard_at_(started_at_) {}

void PackReactor::End(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  EndByServer(status);
  Advance();
}

void PackReactor::Drain(double grace_seconds) {
  absl::MutexLock lock(&mutex_);
  if (outcome_.has_value()) return;
  drained_ = true;
  if (receiving_) {
    drain_seconds_ = grace_seconds;
    return;
  }
  session_.Drain(grace_seconds, &answers_);
  meter_.Update(session_);
  Enqueue();
  Advance();
}

void PackReactor::Tick(absl::Time now) {
  bool cut_off = false;
  {
    absl::MutexLock lock(&mutex_);
    const ServerOptions& options = host_->options;
    const absl::Duration limit =
        shown_.has_value()
            ? options.idle_timeout
            : std::min(options.idle_timeout, options.open_timeout);
    if (outcome_.has_value()) {
      cut_off = now > ended_at_ + kGoodbyeLimit;
    } else if (!receiving_ && now > heard_at_ + limit) {
      session_.AppendSnapshot(&answers_);
      meter_.Update(session_);
      Enqueue();
      EndByServer(Idle(limit));
      Advance();
    }
  }
  if (cut_off) context_->TryCancel();
}

void PackReactor::Describe(absl::Time now, v1::StreamStatus* status) const {
  absl::MutexLock lock(&mutex_);
  status->set_peer(peer_);
  status->set_age_seconds(absl::ToDoubleSeconds(now - started_at_));
  status->set_idle_seconds(absl::ToDoubleSeconds(now - heard_at_));
  status->set_queued_units(queued_units_);
  status->set_busy(receiving_);
  if (!shown_.has_value()) return;
  Encode(*session_.spec(), status->mutable_spec());
  status->set_stream_id(shown_->id);
  status->set_incarnation(shown_->incarnation);
  status->set_resumed(shown_->resumed);
  status->set_memory_bound_bytes(static_cast<int64_t>(shown_->memory_bytes));
  status->set_received_number(credit_.received_number);
  status->set_max_number(credit_.max_number);
  status->set_max_sequences(credit_.max_sequences);
  const SessionCounts& counts = meter_.counts();
  status->set_sequences(counts.accepted.sequences);
  status->set_packs(counts.packs);
  status->set_pending_units(counts.pending_units());
  status->set_snapshots(counts.snapshots);
}

void PackReactor::OnReadDone(bool ok) {
  uint64_t pending_units;
  {
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    if (outcome_.has_value()) return;  // what still comes is not taken
    if (!ok) {
      broken_ = true;
      EndWith(drained_ ? Stopping() : ClosedBeforeEnd());
      Advance();
      return;
    }
    receiving_ = true;
    pending_units = meter_.counts().pending_units();
  }
  received_ = Decode(request_);
  request_.Clear();
  if (EstimateNanos(session_.spec(), pending_units, received_) <=
      kInlineNanos) {
    Receive();
  } else {
    host_->pool->Submit([self = shared_from_this()] { self->Receive(); });
  }
}

void PackReactor::Receive() {
  bool wanted;
  {
    absl::MutexLock lock(&mutex_);
    wanted = !outcome_.has_value();
  }
  absl::Status status;
  absl::optional<Shown> opened;
  if (wanted) {
    const auto* open = std::get_if<Open>(&received_);
    if (open != nullptr && session_.spec() == nullptr) {
      status = Admit(*open);
      opened = Shown{open->stream_id, open->incarnation,
                     open->resume.has_value(), memory_.bytes()};
    }
    if (status.ok()) status = session_.Receive(received_, &answers_);
  }
  received_ = {};

  absl::MutexLock lock(&mutex_);
  receiving_ = false;
  if (finished_) return;  // ended meanwhile: nobody takes the answers
  heard_at_ = absl::Now();
  if (drain_seconds_.has_value()) {
    session_.Drain(*drain_seconds_, &answers_);
    drain_seconds_.reset();
  }
  meter_.Update(session_);
  if (opened.has_value()) {
    stream_id_ = opened->id.substr(0, kMaxStreamIdBytes);
  }
  if (status.ok() && opened.has_value()) {
    if (opened->resumed) host_->metrics->CountResumed();
    shown_ = std::move(opened);
  }
  Enqueue();
  if (!status.ok() || session_.ended()) EndWith(status);
  Advance();
}

absl::Status PackReactor::Admit(const Open& open) {
  const SessionLimits& limits = host_->options.limits;
  absl::Status status = CheckOpen(open, limits);
  if (!status.ok()) return status;
  const uint64_t bytes = StreamMemoryBound(open.spec, limits);
  if (bytes > host_->memory->limit()) {
    return OverLimit(
        "the memory that such a stream may take in bytes (--max-memory)", bytes,
        host_->memory->limit());
  }
  status = host_->streams.Admit(this, OwnerOf(*context_), open.stream_id,
                                open.incarnation);
  if (!status.ok()) return status;
  absl::optional<MemoryBudget::Share> share = host_->memory->Take(bytes);
  if (!share.has_value()) {
    return ServerFull("memory in bytes", host_->memory->committed() + bytes,
                      host_->memory->limit());
  }
  memory_ = *std::move(share);
  return absl::OkStatus();
}

void PackReactor::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  Queued& written = queue_.front();
  queued_units_ -= written.units;
  if (written.units <= kSpareUnits) spare_.Swap(&written.message);
  queue_.pop_front();
  if (!ok) Break();
  Advance();
}

void PackReactor::OnCancel() {
  absl::MutexLock lock(&mutex_);
  Break();
  Advance();
}

void PackReactor::Break() {
  if (finished_) return;  // and counted: what breaks now breaks nothing
  broken_ = true;
  while (queue_.size() > (writing_ ? 1 : 0)) {
    queued_units_ -= queue_.back().units;
    queue_.pop_back();
  }
  EndWith(ClientGone());
}

// The last reaction.
void PackReactor::OnDone() {
  {
    absl::MutexLock lock(&mutex_);
    if (broken_) CountEnd();
    // Before the next stream may come in; a job keeps it to its end.
    if (!receiving_) memory_ = MemoryBudget::Share();
  }
  host_->streams.Leave(this);
  // A job may still hold it.
  const std::shared_ptr<PackReactor> self = std::move(self_);
}

void PackReactor::Enqueue() {
  for (const Response& answer : answers_) Enqueue(answer);
  answers_.clear();
}

void PackReactor::Enqueue(const Response& answer) {
  if (broken_) return;
  // A credit replaces an earlier one, so one that comes alone needs no message
  // of its own while another response still waits.
  if (std::holds_alternative<std::monostate>(answer.event) &&
      queue_.size() > (writing_ ? 1 : 0)) {
    v1::PackResponse message;
    Encode(answer, &message);
    queue_.back().message.mutable_credit()->Swap(message.mutable_credit());
    credit_ = *answer.credit;
    return;
  }
  if (answer.credit.has_value()) credit_ = *answer.credit;
  Queued& last = queue_.emplace_back();
  last.message.Swap(&spare_);
  Encode(answer, &last.message);
  last.units = UnitsOf(answer);
  queued_units_ += last.units;
}

void PackReactor::EndWith(const absl::Status& status) {
  if (outcome_.has_value()) return;
  outcome_ = status;
  ended_at_ = absl::Now();
}

void PackReactor::EndByServer(const absl::Status& status) {
  if (!outcome_.has_value()) ended_by_server_ = true;
  EndWith(status);
}

void PackReactor::Advance() {
  if (!writing_ && !finished_) {
    if (!queue_.empty()) {
      writing_ = true;
      StartWrite(&queue_.front().message);
    } else if (outcome_.has_value()) {
      // Whoever serves a request finds that it is over.
      finished_ = true;
      // First, so that a client which has seen the end finds it counted.
      if (!broken_) CountEnd();
      Finish(ToGrpc(*outcome_));
    }
  }
  if (!reading_ && !receiving_ && !outcome_.has_value() &&
      queued_units_ <= kMaxQueuedUnits) {
    reading_ = true;
    StartRead(&request_);
  }
}

// Of a stream on which an operation failed, only once all is done does gRPC
// know whether the call was cut or the client had said all it wanted to.
void PackReactor::CountEnd() {
  absl::Status status = *outcome_;
  // A client that was told of the stop may leave in any way.
  const bool left =
      broken_ && !ended_by_server_ && (drained_ || context_->IsCancelled());
  if (left) status = ClientGone();
  meter_.End(status.code());
  if (left && drained_) {
    host_->metrics->CountDrained();
    return;
  }
  Log* log = host_->options.log;
  if (status.ok() || log == nullptr) return;
  const SessionCounts& counts = meter_.counts();
  const Log::Fields fields = {{"peer", peer_},
                              {"stream_id", stream_id_},
                              {"code", absl::StatusCodeToString(status.code())},
                              {"error", std::string(status.message())},
                              {"sequences", counts.accepted.sequences},
                              {"packs", counts.packs}};
  constexpr char kEnded[] = "stream ended";
  const absl::optional<Reason> reason = ReasonOf(status);
  // Each client of a full server comes again and again.
  if (reason.has_value() && reason->name == "SERVER_FULL") {
    log->RepeatedWarning(reason->name, kEnded, fields);
  } else {
    log->Warning(kEnded, fields);
  }
}

}  // namespace packhouse
