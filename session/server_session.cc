#include "session/server_session.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace packhouse {
namespace {

SessionLimits Reconcile(SessionLimits limits) {
  limits.max_batch_sequences = static_cast<uint32_t>(
      std::min<uint64_t>(limits.max_batch_sequences, limits.credit_sequences));
  return limits;
}

absl::Status CheckLimits(const PackSpec& spec, const SessionLimits& limits) {
  const auto check = [](absl::string_view field, int64_t value, int64_t limit) {
    if (value <= limit) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(
        field, " is ", value, ", this server allows at most ", limit));
  };
  absl::Status status = check("window_sequences", spec.window_sequences,
                              limits.max_window_sequences);
  if (status.ok() && spec.algorithm == "sliding") {
    status = check("with sliding, capacity_tokens / sequence_alignment",
                   spec.capacity_tokens / spec.sequence_alignment,
                   kMaxStreamSlidingCapacity);
  }
  if (!status.ok()) return status;
  return check("max_displacement", spec.max_displacement,
               kMaxStreamDisplacementWindows * limits.max_window_sequences);
}

}  // namespace

SessionCounts SessionCounts::operator-(const SessionCounts& earlier) const {
  SessionCounts since = *this;
  since.batches -= earlier.batches;
  since.refused_batches -= earlier.refused_batches;
  since.accepted -= earlier.accepted;
  since.packs -= earlier.packs;
  since.packed_units -= earlier.packed_units;
  since.packed_tokens -= earlier.packed_tokens;
  since.packed_footprint_tokens -= earlier.packed_footprint_tokens;
  return since;
}

ServerSession::ServerSession(const SessionLimits& limits,
                             uint64_t server_incarnation)
    : limits_(Reconcile(limits)), server_incarnation_(server_incarnation) {}

const PackSpec* ServerSession::spec() const {
  return packer_.has_value() ? &packer_->spec() : nullptr;
}

absl::Status ServerSession::Receive(const Request& request,
                                    std::vector<Response>* responses) {
  if (state_ == State::kFailed) {
    return absl::FailedPreconditionError(
        "the stream has failed and takes no request");
  }
  const size_t responses_before = responses->size();
  absl::Status status = std::visit(
      [&](const auto& content) { return Handle(content, responses); }, request);
  if (!status.ok()) {
    state_ = State::kFailed;
    return status;
  }
  if (responses->size() == responses_before) responses->emplace_back();
  responses->back().credit = credit();
  return absl::OkStatus();
}

absl::Status ServerSession::Handle(const std::monostate&,
                                   std::vector<Response>*) {
  return absl::FailedPreconditionError("a request has no content");
}

absl::Status ServerSession::Handle(const Open& open,
                                   std::vector<Response>* responses) {
  if (state_ != State::kNew) {
    return absl::FailedPreconditionError("a second `open` on one stream");
  }
  if (open.protocol_version == 0 || open.protocol_version > kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the client speaks protocol version ", open.protocol_version,
        ", this server speaks 1 to ", kProtocolVersion));
  }
  if (absl::Status status = ValidateSpec(open.spec); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckLimits(open.spec, limits_); !status.ok()) {
    return status;
  }
  absl::StatusOr<Packer> packer = Packer::Create(open.spec);
  if (!packer.ok()) return packer.status();
  packer_ = *std::move(packer);
  state_ = State::kOpen;

  Opened opened;
  opened.protocol_version = open.protocol_version;
  opened.server_incarnation = server_incarnation_;
  opened.max_batch_sequences = limits_.max_batch_sequences;
  responses->push_back({opened, absl::nullopt});
  return absl::OkStatus();
}

absl::Status ServerSession::Handle(const Batch& batch,
                                   std::vector<Response>* responses) {
  if (absl::Status status = AcceptInput(batch.number); !status.ok()) {
    return status;
  }
  if (batch.lengths.size() > limits_.max_batch_sequences) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "batch ", batch.number, " has ", batch.lengths.size(),
        " sequences, at most ", limits_.max_batch_sequences, " are allowed"));
  }
  received_sequences_ += batch.lengths.size();

  const PackSpec& spec = packer_->spec();
  absl::Status status = CheckLengths(spec, batch.lengths, packer_->sequences());
  if (!status.ok()) {
    ++counts_.refused_batches;
    responses->push_back(
        {Refused{batch.number, std::move(status)}, absl::nullopt});
    return absl::OkStatus();
  }
  const IntakeCounts came = CountIntake(spec, batch.lengths);
  if (came.units > kMaxBatchUnits) {
    return absl::ResourceExhaustedError(
        absl::StrCat("batch ", batch.number, " becomes ", came.units,
                     " pieces, at most ", kMaxBatchUnits, " are allowed"));
  }
  const uint64_t oldest = packer_->oldest_pending_ordinal();
  const uint64_t waiting = packer_->sequences() + came.sequences - oldest;
  if (waiting > kMaxStreamWaitingSequences) {
    return absl::ResourceExhaustedError(
        absl::StrCat("with batch ", batch.number, " the stream has ", waiting,
                     " sequences since ordinal ", oldest,
                     ", which waits for a pack; at most ",
                     kMaxStreamWaitingSequences, " are allowed, so flush"));
  }
  Packs decided;
  status = packer_->Add(batch.lengths, &decided);
  if (!status.ok()) return status;
  ++counts_.batches;
  counts_.accepted += came;
  waiting_.Append(batch.lengths);
  AppendPacks(std::move(decided), responses);
  return absl::OkStatus();
}

absl::Status ServerSession::Handle(const Flush& flush,
                                   std::vector<Response>* responses) {
  if (absl::Status status = AcceptInput(flush.number); !status.ok()) {
    return status;
  }
  Packs decided;
  if (absl::Status status = packer_->Flush(&decided); !status.ok()) {
    return status;
  }
  AppendPacks(std::move(decided), responses);
  return absl::OkStatus();
}

absl::Status ServerSession::Handle(const End& end,
                                   std::vector<Response>* responses) {
  if (absl::Status status = AcceptInput(end.number); !status.ok()) {
    return status;
  }
  Packs decided;
  if (absl::Status status = packer_->Finish(&decided); !status.ok()) {
    return status;
  }
  AppendPacks(std::move(decided), responses);
  responses->push_back(
      {Ended{counts_.accepted.sequences, counts_.packs, counts_.packed_units},
       absl::nullopt});
  state_ = State::kEnded;
  return absl::OkStatus();
}

absl::Status ServerSession::AcceptInput(uint64_t number) {
  if (state_ == State::kNew) {
    return absl::FailedPreconditionError(
        "the first request of a stream must be `open`");
  }
  if (state_ == State::kEnded) {
    return absl::FailedPreconditionError(
        absl::StrCat("input ", number, " came after `end`"));
  }
  if (number != received_number_ + 1) {
    return absl::OutOfRangeError(absl::StrCat(
        "input ", number, " came, ", received_number_ + 1, " was expected"));
  }
  received_number_ = number;
  return absl::OkStatus();
}

void ServerSession::CountPacks(const Packs& packs) {
  if (packs.empty()) return;
  const PackSpec& spec = packer_->spec();
  const IntakeCounts packed = CountIntake(
      spec,
      PackedTokens(spec, waiting_.lengths(), waiting_.first_ordinal(), packs));
  counts_.packs += packs.size();
  counts_.packed_units += packed.units;
  counts_.packed_tokens += packed.packed_tokens;
  counts_.packed_footprint_tokens += packed.footprint_tokens;
}

void ServerSession::AppendPacks(Packs packs, std::vector<Response>* responses) {
  const uint64_t first_number = counts_.packs + 1;
  CountPacks(packs);
  waiting_.Forget(packer_->oldest_pending_ordinal());
  // The usual case copies nothing.
  if (!packs.empty() && packs.ordinals.size() <= kMaxResponseUnits) {
    responses->push_back(
        {PackList{first_number, std::move(packs)}, absl::nullopt});
    return;
  }
  for (size_t begin = 0, end = 0; begin < packs.size(); begin = end) {
    // At least one pack: packs are never cut.
    end = begin + 1;
    while (end < packs.size() &&
           packs.offsets[end + 1] - packs.offsets[begin] <= kMaxResponseUnits) {
      ++end;
    }
    responses->push_back(
        {PackList{first_number + begin, packs.Slice(begin, end)},
         absl::nullopt});
  }
}

Credit ServerSession::credit() const {
  Credit credit;
  credit.received_number = received_number_;
  credit.max_number = received_number_ + limits_.credit_inputs;
  credit.max_sequences = received_sequences_ + limits_.credit_sequences;
  return credit;
}

}  // namespace packhouse
