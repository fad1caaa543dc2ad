#include "session/server_session.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "packing/seal.h"
#include "packing/state.h"
#include "session/reason.h"

namespace packhouse {
namespace {

SessionLimits Reconcile(SessionLimits limits) {
  limits.max_batch_sequences = static_cast<uint32_t>(
      std::min<uint64_t>(limits.max_batch_sequences, limits.credit_sequences));
  return limits;
}

// A state has these numbers, the packer's state, and the lengths that wait; all
// of it under one seal.
constexpr uint64_t kStateVersion = 2;
constexpr char kState[] = "the state to resume";

void Append(Event event, std::vector<Response>* responses) {
  responses->emplace_back().event = std::move(event);
}

absl::Status Violation(absl::string_view what) {
  return WithReason(absl::FailedPreconditionError(what),
                    {"PROTOCOL_VIOLATION"});
}

absl::Status BadState(absl::string_view what) {
  return WithReason(absl::InvalidArgumentError(absl::StrCat(kState, " ", what)),
                    {"STATE_INVALID"});
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
  since.resumed_units -= earlier.resumed_units;
  since.resumed_tokens -= earlier.resumed_tokens;
  since.replayed_packs -= earlier.replayed_packs;
  since.replayed_units -= earlier.replayed_units;
  since.replayed_tokens -= earlier.replayed_tokens;
  since.snapshots -= earlier.snapshots;
  since.snapshot_bytes -= earlier.snapshot_bytes;
  return since;
}

absl::Status CheckOpen(const Open& open, const SessionLimits& limits) {
  if (open.protocol_version == 0 || open.protocol_version > kProtocolVersion) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "the client speaks protocol version ", open.protocol_version,
            ", this server speaks 1 to ", kProtocolVersion)),
        {"VERSION_UNKNOWN",
         {{"value", absl::StrCat(open.protocol_version)},
          {"limit", absl::StrCat(kProtocolVersion)}}});
  }
  if (open.stream_id.size() > kMaxStreamIdBytes) {
    return OverLimit("the size of stream_id in bytes", open.stream_id.size(),
                     kMaxStreamIdBytes);
  }
  if (absl::Status status = ValidateSpec(open.spec); !status.ok()) {
    return WithReason(std::move(status), {"SPEC_INVALID"});
  }
  return CheckLimits(open.spec, limits);
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
    return Violation("the stream has failed and takes no request");
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
  return Violation("a request has no content");
}

absl::Status ServerSession::Handle(const Open& open,
                                   std::vector<Response>* responses) {
  if (state_ != State::kNew) {
    return Violation("a second `open` on one stream");
  }
  if (absl::Status status = CheckOpen(open, limits_); !status.ok()) {
    return status;
  }
  absl::StatusOr<Packer> packer = Packer::Create(open.spec);
  if (!packer.ok()) {
    return WithReason(packer.status(), {"SPEC_INVALID"});
  }
  packer_ = *std::move(packer);
  if (open.resume.has_value()) {
    client_packs_ = open.resume->received_packs;
    const std::string& state = open.resume->state;
    absl::Status status =
        state.empty() ? absl::OkStatus() : RestoreState(open.spec, state);
    if (!status.ok()) {
      packer_.reset();
      return status;
    }
  }
  state_ = State::kOpen;

  Opened opened;
  opened.protocol_version = open.protocol_version;
  opened.server_incarnation = server_incarnation_;
  opened.max_batch_sequences = limits_.max_batch_sequences;
  opened.snapshot_sequences = SnapshotSequences(open.spec, limits_);
  opened.snapshot_inputs = limits_.snapshot_inputs;
  Append(opened, responses);
  return absl::OkStatus();
}

absl::Status ServerSession::Handle(const Batch& batch,
                                   std::vector<Response>* responses) {
  bool is_new = false;
  absl::Status status = AcceptInput(batch.number, &is_new);
  if (!status.ok()) return status;
  if (batch.lengths.size() > limits_.max_batch_sequences) {
    return OverLimit(
        absl::StrCat("the number of sequences of batch ", batch.number),
        batch.lengths.size(), limits_.max_batch_sequences);
  }
  if (is_new) received_sequences_ += batch.lengths.size();

  const PackSpec& spec = packer_->spec();
  status = CheckLengths(spec, batch.lengths, packer_->sequences());
  if (!status.ok()) {
    if (is_new) ++counts_.refused_batches;
    Append(Refused{batch.number, std::move(status)}, responses);
    return absl::OkStatus();
  }
  if (!is_new) return absl::OkStatus();
  const IntakeCounts came = CountIntake(spec, batch.lengths);
  if (came.units > kMaxBatchUnits) {
    return OverLimit(absl::StrCat("the number of pieces that batch ",
                                  batch.number, " becomes"),
                     came.units, kMaxBatchUnits);
  }
  const uint64_t oldest = packer_->oldest_pending_ordinal();
  const uint64_t waiting = packer_->sequences() + came.sequences - oldest;
  if (!limits_.trusts_client && waiting > MaxWaitingSequences(spec)) {
    return OverLimit(
        absl::StrCat("the number of sequences since ordinal ", oldest,
                     ", which waits for a pack (so flush),"),
        waiting, MaxWaitingSequences(spec));
  }
  Packs decided;
  status = packer_->Add(batch.lengths, &decided);
  if (!status.ok()) return status;
  ++counts_.batches;
  counts_.accepted += came;
  waiting_.Append(batch.lengths);
  AppendPacks(std::move(decided), responses);
  AppendDueSnapshot(responses);
  return absl::OkStatus();
}

absl::Status ServerSession::Handle(const packhouse::Flush& flush,
                                   std::vector<Response>* responses) {
  bool is_new = false;
  absl::Status status = AcceptInput(flush.number, &is_new);
  if (!status.ok() || !is_new) return status;
  Packs decided;
  status = packer_->Flush(&decided);
  if (!status.ok()) return status;
  AppendPacks(std::move(decided), responses);
  AppendDueSnapshot(responses);
  return absl::OkStatus();
}

absl::Status ServerSession::Handle(const End& end,
                                   std::vector<Response>* responses) {
  bool is_new = false;
  absl::Status status = AcceptInput(end.number, &is_new);
  if (!status.ok() || !is_new) return status;
  Packs decided;
  status = packer_->Finish(&decided);
  if (!status.ok()) return status;
  if (const uint64_t packs = packs_ + decided.size(); packs < client_packs_) {
    return Violation(absl::StrCat(
        "the stream has ", packs,
        " packs, of which the client said that it has ", client_packs_));
  }
  AppendPacks(std::move(decided), responses);
  Append(Ended{packer_->sequences(), packs_, packed_units_}, responses);
  state_ = State::kEnded;
  return absl::OkStatus();
}

absl::Status ServerSession::AcceptInput(uint64_t number, bool* is_new) {
  if (state_ == State::kNew) {
    return Violation("the first request of a stream must be `open`");
  }
  if (state_ == State::kEnded) {
    return Violation(absl::StrCat("input ", number, " came after `end`"));
  }
  if (number == 0) return Violation("input 0 came: inputs begin with 1");
  const uint64_t expected = received_number_ + 1;
  if (number > expected) {
    return WithReason(
        absl::OutOfRangeError(absl::StrCat("input ", number, " came, ",
                                           expected, " was expected")),
        {"INPUT_MISSING",
         {{"value", absl::StrCat(number)},
          {"expected", absl::StrCat(expected)}}});
  }
  *is_new = number == expected;
  if (*is_new) received_number_ = number;
  return absl::OkStatus();
}

// Runs for every unit of a stream: one pass, nothing is copied.
ServerSession::PackedSum ServerSession::SumOf(const Packs& packs, size_t begin,
                                              size_t end) const {
  const PackSpec& spec = packer_->spec();
  const uint32_t longest = LongestPiece(spec);
  const uint32_t alignment = static_cast<uint32_t>(spec.sequence_alignment);
  const uint64_t first = waiting_.first_ordinal();
  const absl::Span<const uint32_t> lengths = waiting_.lengths();
  PackedSum sum;
  for (size_t i = packs.offsets[begin]; i < packs.offsets[end]; ++i) {
    const uint32_t length = lengths[packs.ordinals[i] - first];
    const uint32_t tokens = std::min(length - packs.source_offset(i), longest);
    const uint32_t beyond = alignment == 1 ? 0 : tokens % alignment;
    sum.tokens += tokens;
    sum.alignment_tokens += beyond == 0 ? 0 : alignment - beyond;
  }
  sum.units = packs.offsets[end] - packs.offsets[begin];
  return sum;
}

void ServerSession::CountPacks(const Packs& packs) {
  if (packs.empty()) return;
  // Those that are the client's already.
  const size_t known = static_cast<size_t>(std::min<uint64_t>(
      packs.size(), client_packs_ - std::min(client_packs_, packs_)));
  const PackedSum replayed = SumOf(packs, 0, known);
  const PackedSum packed = SumOf(packs, known, packs.size());
  counts_.replayed_packs += known;
  counts_.replayed_units += replayed.units;
  counts_.replayed_tokens += replayed.tokens;
  counts_.packs += packs.size() - known;
  counts_.packed_units += packed.units;
  counts_.packed_tokens += packed.tokens;
  counts_.packed_footprint_tokens += packed.tokens + packed.alignment_tokens;

  // A sequence of one unit waits no more. Before the oldest one that waits, the
  // log is not asked again.
  const uint64_t oldest = packer_->oldest_pending_ordinal();
  if (oldest == packer_->sequences()) return;
  const bool splits = packer_->spec().overlong == Overlong::kSplit;
  for (const uint64_t ordinal : packs.ordinals) {
    if (ordinal < oldest) continue;
    if (!splits ||
        UnitCount(packer_->spec(), waiting_.From(ordinal).front()) == 1) {
      waiting_.Clear(ordinal);
    }
  }
}

void ServerSession::AppendPacks(Packs packs, std::vector<Response>* responses) {
  CountPacks(packs);
  waiting_.Forget(packer_->oldest_pending_ordinal());
  const uint64_t first_number = packs_ + 1;
  packs_ += packs.size();
  packed_units_ += packs.ordinals.size();
  if (packs.empty() || packs_ <= client_packs_) return;
  const uint64_t first_new = std::max(first_number, client_packs_ + 1);
  // The usual case copies nothing.
  if (first_new == first_number && packs.ordinals.size() <= kMaxResponseUnits) {
    Append(PackList{first_number, std::move(packs)}, responses);
    return;
  }
  size_t end = first_new - first_number;
  for (size_t begin = end; begin < packs.size(); begin = end) {
    // At least one pack: packs are never cut.
    end = begin + 1;
    while (end < packs.size() &&
           packs.offsets[end + 1] - packs.offsets[begin] <= kMaxResponseUnits) {
      ++end;
    }
    Append(PackList{first_number + begin, packs.Slice(begin, end)}, responses);
  }
}

void ServerSession::AppendDueSnapshot(std::vector<Response>* responses) {
  if (received_number_ - snapshot_number_ >= limits_.snapshot_inputs ||
      packer_->sequences() - snapshot_sequences_ >=
          SnapshotSequences(packer_->spec(), limits_)) {
    AppendSnapshot(responses);
  }
}

void ServerSession::AppendSnapshot(std::vector<Response>* responses) {
  // A client that lacks packs of the snapshot has its own, of before them.
  if (state_ != State::kOpen || packs_ < client_packs_) return;
  snapshot_number_ = received_number_;
  snapshot_sequences_ = packer_->sequences();
  std::string state = SaveState();
  if (state.size() > kMaxSnapshotBytes) return;
  ++counts_.snapshots;
  counts_.snapshot_bytes += state.size();
  Append(Snapshot{received_number_, packer_->sequences(), packs_,
                  std::move(state)},
         responses);
}

void ServerSession::Drain(double grace_seconds,
                          std::vector<Response>* responses) {
  if (state_ != State::kOpen) return;
  AppendSnapshot(responses);
  Append(packhouse::Drain{grace_seconds}, responses);
}

std::string ServerSession::SaveState() const {
  StateWriter writer = BeginState(kStateVersion, packer_->spec());
  writer.Number(received_number_);
  writer.Number(received_sequences_);
  writer.Number(packs_);
  writer.Number(packed_units_);
  writer.Number(counts_.pending_tokens());
  writer.Bytes(packer_->Save());
  waiting_.Save(packer_->oldest_pending_ordinal(), &writer);
  return SealState(std::move(writer).Take());
}

absl::Status ServerSession::RestoreState(const PackSpec& spec,
                                         absl::string_view state) {
  absl::StatusOr<StateReader> opened =
      OpenState(kState, kStateVersion, spec, state);
  if (!opened.ok()) return WithReason(opened.status(), {"STATE_INVALID"});
  StateReader& reader = *opened;
  received_number_ = reader.Count();
  received_sequences_ = reader.Count();
  packs_ = reader.Count();
  packed_units_ = reader.Count();
  counts_.resumed_tokens = reader.Count();
  absl::StatusOr<Packer> packer =
      Packer::Restore(spec, reader.Bytes(state.size()));
  if (!reader.ok() || !packer.ok()) return BadState("contradicts itself");
  packer_ = *std::move(packer);
  waiting_.Restore(
      limits_.trusts_client ? kMaxStreamCount : MaxWaitingSequences(spec),
      &reader);
  counts_.resumed_units = packer_->pending_units();
  if (!reader.AtEnd() || !StateAgrees()) return BadState("contradicts itself");
  if (packs_ > client_packs_) {
    return BadState(absl::StrCat("covers ", packs_,
                                 " packs, of which the client has only ",
                                 client_packs_));
  }
  snapshot_number_ = received_number_;
  snapshot_sequences_ = packer_->sequences();
  return absl::OkStatus();
}

// What a made-up state could still get wrong are the counts of tokens.
bool ServerSession::StateAgrees() const {
  if (waiting_.first_ordinal() != packer_->oldest_pending_ordinal() ||
      waiting_.end_ordinal() != packer_->sequences() ||
      received_sequences_ < packer_->sequences()) {
    return false;
  }
  std::vector<uint32_t> lengths;
  std::copy_if(waiting_.lengths().begin(), waiting_.lengths().end(),
               std::back_inserter(lengths),
               [](uint32_t length) { return length != 0; });
  if (!CheckLengths(packer_->spec(), lengths, 0).ok()) return false;
  const IntakeCounts waiting = CountIntake(packer_->spec(), lengths);
  return waiting.units >= counts_.resumed_units &&
         waiting.packed_tokens >= counts_.resumed_tokens;
}

Credit ServerSession::credit() const {
  Credit credit;
  credit.received_number = received_number_;
  credit.max_number = received_number_ + limits_.credit_inputs;
  credit.max_sequences = received_sequences_ + limits_.credit_sequences;
  return credit;
}

}  // namespace packhouse
