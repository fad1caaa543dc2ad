#include "server/plan_reactor.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "packhouse/plan.h"
#include "packhouse/policy.h"
#include "packhouse/spec.h"
#include "server/memory_budget.h"
#include "server/refusal.h"
#include "session/codec/codec.h"
#include "session/messages.h"
#include "session/reason.h"

namespace packhouse {
namespace {

// The list twice (as it came and as it is packed), the tables of the rules, the
// packs and their message: measured over the rules at 2^20 sequences.
constexpr uint64_t kPlanUnitBytes = 300;
constexpr uint64_t kPlanBytes = 1 << 20;

// Errors as PackerService.Plan says; *units are those of the list.
absl::Status CheckPlan(const v1::PlanRequest& request, const PackSpec& spec,
                       uint64_t max_sequences, uint64_t* units) {
  const absl::Span<const uint32_t> lengths = request.lengths();
  if (lengths.size() > max_sequences) {
    return OverLimit("the number of sequences of one call (a stream takes any)",
                     lengths.size(), max_sequences);
  }
  if (absl::Status status = ValidateSpec(spec); !status.ok()) {
    return WithReason(std::move(status), {"SPEC_INVALID"});
  }
  if (spec.algorithm == "nnlshp") {
    return WithReason(
        absl::InvalidArgumentError(
            "algorithm nnlshp has no bound on its time: plan in process"),
        {"SPEC_INVALID"});
  }
  if (absl::Status status = CheckLengths(spec, lengths, 0); !status.ok()) {
    return WithReason(std::move(status), {"LENGTHS_INVALID"});
  }
  *units = CountIntake(spec, lengths).units;
  if (*units > max_sequences) {
    return OverLimit("the number of pieces of one call (a stream takes any)",
                     *units, max_sequences);
  }
  if (spec.budget_seconds > kMaxPlanBudgetSeconds) {
    return OverLimit("budget_seconds", spec.budget_seconds,
                     kMaxPlanBudgetSeconds);
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t PlanMemoryBound(uint64_t units) {
  return kPlanBytes + kPlanUnitBytes * units;
}

class PlanReactor::Job {
 public:
  Job(PlanReactor* reactor, PackSpec spec, absl::Span<const uint32_t> lengths,
      MemoryBudget::Share memory)
      : spec_(std::move(spec)),
        lengths_(lengths.begin(), lengths.end()),
        memory_(std::move(memory)),
        reactor_(reactor) {}

  void Run() {
    if (Abandoned()) return;
    const absl::StatusOr<Packs> packs = Plan(lengths_, spec_);
    absl::MutexLock lock(&mutex_);
    if (reactor_ != nullptr) std::exchange(reactor_, nullptr)->Answer(packs);
  }

  // The call is to be answered without it. False if it has been answered.
  bool Abandon() {
    absl::MutexLock lock(&mutex_);
    return std::exchange(reactor_, nullptr) != nullptr;
  }

 private:
  bool Abandoned() const {
    absl::MutexLock lock(&mutex_);
    return reactor_ == nullptr;
  }

  const PackSpec spec_;
  const std::vector<uint32_t> lengths_;
  const MemoryBudget::Share memory_;
  mutable absl::Mutex mutex_;
  PlanReactor* reactor_ ABSL_GUARDED_BY(mutex_);  // null once it is answered
};

PlanReactor::PlanReactor(ServiceHost* host,
                         const grpc::CallbackServerContext* context,
                         const v1::PlanRequest& request,
                         v1::PlanResponse* response)
    : host_(host), context_(context), request_(request), response_(response) {
  if (absl::Status status = Submit(); !status.ok()) Answer(status);
}

absl::Status PlanReactor::Submit() {
  if (host_->streams.closed()) return Stopping();
  PackSpec spec = Decode(request_.spec());
  uint64_t units = 0;
  absl::Status status =
      CheckPlan(request_, spec, host_->options.max_plan_sequences, &units);
  if (!status.ok()) return status;
  const uint64_t bytes = PlanMemoryBound(units);
  if (bytes > host_->memory->limit()) {
    return OverLimit(
        "the memory that such a plan may take in bytes (--max-memory)", bytes,
        host_->memory->limit());
  }
  absl::optional<MemoryBudget::Share> memory = host_->memory->Take(bytes);
  if (!memory.has_value()) {
    return ServerFull("memory in bytes", host_->memory->committed() + bytes,
                      host_->memory->limit());
  }
  job_ = std::make_shared<Job>(this, std::move(spec), request_.lengths(),
                               *std::move(memory));
  // It may answer before this returns; gRPC goes on only after that.
  ticket_ = host_->pool->SubmitPlan([job = job_] { job->Run(); });
  if (ticket_.has_value()) return absl::OkStatus();
  job_->Abandon();
  const size_t limit = host_->pool->max_waiting_plans();
  return ServerFull("plans that wait", limit + 1, limit);
}

void PlanReactor::OnCancel() {
  if (job_ == nullptr || !job_->Abandon()) return;
  host_->pool->Withdraw(*ticket_);
  const bool late = absl::FromChrono(context_->deadline()) <= absl::Now();
  Answer(late ? absl::DeadlineExceededError("the deadline of the call passed")
              : ClientGone());
}

void PlanReactor::Answer(const absl::StatusOr<Packs>& packs) {
  host_->metrics->CountPlan(packs.status().code(), request_.lengths(),
                            Decode(request_.spec()),
                            packs.ok() ? *packs : Packs());
  if (packs.ok()) Encode(PackList{1, *packs}, response_->mutable_packs());
  Finish(packs.ok() ? grpc::Status::OK : ToGrpc(packs.status()));
}

}  // namespace packhouse
