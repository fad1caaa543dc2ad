#include "session/client_session.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "packhouse/policy.h"
#include "packing/seal.h"

namespace packhouse {
namespace {

constexpr uint64_t kStateVersion = 1;

template <typename... Args>
absl::Status Violation(const Args&... args) {
  return absl::InternalError(
      absl::StrCat("the server broke the protocol: ", args...));
}

constexpr char kState[] = "the saved state of a stream";

void SavePacks(const Packs& packs, StateWriter* writer) {
  writer->Number(packs.size());
  writer->Number(!packs.source_offsets.empty());
  for (size_t i = 0; i < packs.size(); ++i) {
    writer->Number(packs[i].size());
    uint64_t before = 0;
    for (size_t entry = packs.offsets[i]; entry < packs.offsets[i + 1];
         ++entry) {
      writer->Number(packs.ordinals[entry] - before);
      before = packs.ordinals[entry];
      if (!packs.source_offsets.empty()) {
        writer->Number(packs.source_offsets[entry]);
      }
    }
  }
}

Packs RestorePacks(uint64_t sequences, StateReader* reader) {
  Packs packs;
  const uint64_t size = reader->NumberUpTo(reader->left());
  const bool has_offsets = reader->NumberUpTo(1) == 1;
  for (uint64_t i = 0; i < size && reader->ok(); ++i) {
    const uint64_t units = reader->NumberUpTo(reader->left());
    uint64_t ordinal = 0;
    for (uint64_t unit = 0; unit < units && reader->ok(); ++unit) {
      ordinal += reader->NumberUpTo(sequences);
      if (ordinal >= sequences) reader->Fail();
      packs.ordinals.push_back(ordinal);
      if (has_offsets) {
        packs.source_offsets.push_back(static_cast<uint32_t>(
            reader->NumberUpTo(std::numeric_limits<uint32_t>::max())));
      }
    }
    packs.offsets.push_back(packs.ordinals.size());
  }
  return packs;
}

}  // namespace

ClientSession::ClientSession(const PackSpec& spec, uint32_t batch_sequences,
                             std::string stream_id)
    : spec_(spec),
      most_batch_sequences_(batch_sequences),
      stream_id_(std::move(stream_id)),
      ledger_(spec),
      batch_sequences_(batch_sequences) {}

absl::Status ClientSession::Add(absl::Span<const uint32_t> lengths) {
  if (end_given_) {
    return absl::FailedPreconditionError("sequences were added after the end");
  }
  absl::Status status = CheckLengths(spec_, lengths, given_sequences());
  if (!status.ok()) return status;
  ledger_.Give(lengths);
  log_.Append(lengths);
  return absl::OkStatus();
}

absl::Status ClientSession::Flush() {
  if (end_given_) {
    return absl::FailedPreconditionError("a flush was given after the end");
  }
  // Nothing was given since the last one: it would close nothing, and flushes
  // alone must not fill the log.
  if (!has_unflushed()) return absl::OkStatus();
  flushed_sequences_ = given_sequences();
  flushes_.push_back(flushed_sequences_);
  return absl::OkStatus();
}

void ClientSession::End() { end_given_ = true; }

bool ClientSession::HasInputAfter(const Progress& progress) const {
  return end_given_ || pushed_sequences_ > progress.sequences ||
         forgotten_flushes_ + flushes_.size() > progress.flushes ||
         given_sequences() - progress.sequences >= batch_sequences_;
}

bool ClientSession::settled() const {
  if (end_given_) return ended_;
  return was_opened_ && !HasInputAfter(answered_) && !awaits_answer();
}

bool ClientSession::needs_connection() const {
  if (ended_ || !status_.ok()) return false;
  return !was_opened_ || HasInputAfter(answered_);
}

bool ClientSession::awaits_answer() const {
  if (ended_) return false;
  return open_sent_ && (!opened_ || credit_.received_number != sent_number_);
}

Packs ClientSession::Take() { return std::exchange(packs_, Packs()); }

StreamPosition ClientSession::position() const {
  StreamPosition position;
  position.given = given_sequences();
  position.packs = packs_received_ - packs_.size();
  std::vector<uint64_t> kept = packs_.ordinals;
  std::sort(kept.begin(), kept.end());
  position.read_from = ledger_.first_incomplete();
  if (!kept.empty()) {
    position.read_from = std::min(position.read_from, kept.front());
  }
  for (uint64_t i = position.read_from; i < position.given; ++i) {
    if (ledger_.IsComplete(i) &&
        !std::binary_search(kept.begin(), kept.end(), i)) {
      position.done_after.push_back(i);
    }
  }
  return position;
}

void ClientSession::Connect(uint64_t incarnation) {
  incarnation_ = incarnation;
  open_sent_ = false;
  opened_ = false;
  draining_ = false;
  end_sent_ = false;
  sent_number_ = snapshot_.received_number;
  sent_ = {snapshot_.sequences, forgotten_flushes_};
  credit_ = {};
  credit_.received_number = snapshot_.received_number;
  LimitBatches(most_batch_sequences_);
}

void ClientSession::LimitBatches(uint32_t batch_sequences) {
  batch_sequences_ = batch_sequences;
  cut_sequences_ = 0;
  cut_units_ = 0;
}

absl::optional<uint64_t> ClientSession::NextFlush() const {
  const uint64_t index = sent_.flushes - forgotten_flushes_;
  if (index >= flushes_.size()) return absl::nullopt;
  return flushes_[index];
}

size_t ClientSession::CutBatch(uint64_t stop, bool* is_full) {
  const size_t room =
      std::min<uint64_t>(stop - sent_.sequences, batch_sequences_);
  if (spec_.overlong != Overlong::kSplit) {
    *is_full = room == batch_sequences_;
    return room;
  }
  const absl::Span<const uint32_t> lengths = log_.From(sent_.sequences);
  while (cut_sequences_ < room && cut_units_ < batch_sequences_) {
    cut_units_ += UnitCount(spec_, lengths[cut_sequences_++]);
  }
  *is_full =
      cut_units_ >= batch_sequences_ || cut_sequences_ == batch_sequences_;
  return cut_sequences_;
}

absl::optional<Request> ClientSession::NextRequest() {
  if (!status_.ok() || ended_) return absl::nullopt;
  if (!open_sent_) {
    open_sent_ = true;
    Open open{kProtocolVersion, spec_, stream_id_, incarnation_, absl::nullopt};
    if (was_opened_ || !snapshot_.state.empty() || packs_received_ > 0) {
      open.resume = Resume{snapshot_.state, packs_received_};
    }
    return open;
  }
  if (!opened_ || end_sent_ || sent_number_ >= credit_.max_number) {
    return absl::nullopt;
  }
  const absl::optional<uint64_t> flush = NextFlush();
  if (flush == sent_.sequences) {
    ++sent_.flushes;
    return packhouse::Flush{++sent_number_};
  }
  bool is_full;
  const size_t size = CutBatch(flush.value_or(given_sequences()), &is_full);
  if (size == 0) {
    if (!end_given_) return absl::nullopt;
    end_sent_ = true;
    return packhouse::End{++sent_number_};
  }
  if (!is_full && !flush.has_value() && !end_given_ &&
      pushed_sequences_ <= sent_.sequences) {
    return absl::nullopt;
  }
  if (sent_.sequences + size > credit_.max_sequences) return absl::nullopt;
  const absl::Span<const uint32_t> lengths =
      log_.From(sent_.sequences).first(size);
  sent_.sequences += size;
  // A batch that was full of pieces, or by the limit of this server, has to be
  // answered also where the next one would still wait for more.
  pushed_sequences_ = std::max(pushed_sequences_, sent_.sequences);
  cut_sequences_ = 0;
  cut_units_ = 0;
  return Batch{++sent_number_, {lengths.begin(), lengths.end()}};
}

absl::Status ClientSession::Receive(const Response& response) {
  if (status_.ok()) status_ = Check(response);
  return status_;
}

absl::Status ClientSession::Check(const Response& response) {
  if (ended_) return Violation("a response came after `ended`");
  if (!opened_ && !std::holds_alternative<Opened>(response.event)) {
    return Violation("the first response is not `opened`");
  }
  if (!opened_ && !response.credit.has_value()) {
    return Violation("`opened` has no credit");
  }
  absl::Status status = std::visit(
      [this](const auto& event) { return Handle(event); }, response.event);
  if (!status.ok() || !response.credit.has_value()) return status;
  return Handle(*response.credit);
}

absl::Status ClientSession::Handle(const std::monostate&) {
  return absl::OkStatus();
}

absl::Status ClientSession::Handle(const Opened& opened) {
  if (opened_ || !open_sent_) return Violation("an `opened` without an `open`");
  if (opened.protocol_version != kProtocolVersion) {
    return Violation("it speaks version ", opened.protocol_version,
                     ", asked for was ", kProtocolVersion);
  }
  if (opened.max_batch_sequences == 0) {
    return Violation("it allows batches of no sequence");
  }
  opened_ = true;
  was_opened_ = true;
  LimitBatches(std::min(most_batch_sequences_, opened.max_batch_sequences));
  return absl::OkStatus();
}

absl::Status ClientSession::Handle(const PackList& list) {
  if (list.first_number != packs_received_ + 1) {
    return Violation("pack ", list.first_number, " came, ", packs_received_ + 1,
                     " was expected");
  }
  for (size_t i = 0; i < list.packs.size(); ++i) {
    absl::Status status = Check(list.packs, i, list.first_number + i);
    if (!status.ok()) return status;
  }
  ledger_.Trim();
  packs_received_ += list.packs.size();
  units_received_ += list.packs.ordinals.size();
  packs_.Append(list.packs);
  return absl::OkStatus();
}

absl::Status ClientSession::Check(const Packs& packs, size_t i,
                                  uint64_t number) {
  const uint64_t begin = packs.offsets[i];
  const uint64_t end = packs.offsets[i + 1];
  if (begin == end) return Violation("pack ", number, " is empty");
  for (uint64_t entry = begin; entry < end; ++entry) {
    const uint64_t ordinal = packs.ordinals[entry];
    const uint32_t offset = packs.source_offset(entry);
    if (ordinal >= sent_.sequences) {
      return Violation("pack ", number, " has ordinal ", ordinal, ", only ",
                       sent_.sequences, " sequences were sent");
    }
    if (entry > begin) {
      const uint64_t last = packs.ordinals[entry - 1];
      if (ordinal < last ||
          (ordinal == last && offset <= packs.source_offset(entry - 1))) {
        return Violation("pack ", number, " has ordinal ", ordinal, " behind ",
                         last);
      }
    }
    const std::string wrong = ledger_.Receive(ordinal, offset);
    if (!wrong.empty()) {
      return Violation("pack ", number, " has ordinal ", ordinal, ", ", wrong);
    }
  }
  return absl::OkStatus();
}

absl::Status ClientSession::Handle(const Refused& refused) {
  if (refused.number <= credit_.received_number ||
      refused.number > sent_number_) {
    return Violation("it refused batch ", refused.number,
                     ", unanswered are inputs ", credit_.received_number + 1,
                     " to ", sent_number_);
  }
  if (refused.status.ok()) {
    return Violation("it refused batch ", refused.number, " with code OK");
  }
  return refused.status;
}

absl::Status ClientSession::Handle(const Ended& ended) {
  if (!end_sent_) return Violation("an `ended` without an `end`");
  if (ended.sequences != ledger_.sequences() ||
      ended.units != ledger_.units() || units_received_ != ledger_.units()) {
    return Violation(
        "`ended` counts ", ended.sequences, " sequences and ", ended.units,
        " units, ", units_received_, " units came in packs, and sent were ",
        ledger_.sequences(), " sequences of ", ledger_.units(), " units");
  }
  if (ended.packs != packs_received_) {
    return Violation("`ended` counts ", ended.packs, " packs, ",
                     packs_received_, " came");
  }
  ended_ = true;
  return absl::OkStatus();
}

absl::Status ClientSession::Handle(const Credit& credit) {
  if (credit.received_number > sent_number_) {
    return Violation("it received input ", credit.received_number, ", only ",
                     sent_number_, " were sent");
  }
  if (credit.received_number < credit_.received_number ||
      credit.max_number < credit_.max_number ||
      credit.max_sequences < credit_.max_sequences) {
    return Violation("credit shrank from received ", credit_.received_number,
                     ", inputs ", credit_.max_number, ", sequences ",
                     credit_.max_sequences, " to ", credit.received_number,
                     ", ", credit.max_number, ", ", credit.max_sequences);
  }
  credit_ = credit;
  if (credit.received_number == sent_number_ &&
      sent_.sequences >= answered_.sequences) {
    answered_ = sent_;
  }
  return absl::OkStatus();
}

absl::Status ClientSession::Handle(const Snapshot& snapshot) {
  if (snapshot.received_number < snapshot_.received_number ||
      snapshot.received_number > sent_number_ ||
      snapshot.sequences < snapshot_.sequences ||
      snapshot.sequences > sent_.sequences) {
    return Violation("a snapshot covers ", snapshot.sequences,
                     " sequences in inputs up to ", snapshot.received_number,
                     ", the last one ", snapshot_.sequences, " up to ",
                     snapshot_.received_number, ", and sent were ",
                     sent_.sequences, " up to ", sent_number_);
  }
  if (snapshot.packs != packs_received_) {
    return Violation("a snapshot covers ", snapshot.packs, " packs, ",
                     packs_received_, " came");
  }
  if (snapshot.state.empty() || snapshot.state.size() > kMaxSnapshotBytes) {
    return Violation("a snapshot has ", snapshot.state.size(),
                     " bytes, allowed are 1 to ", kMaxSnapshotBytes);
  }
  snapshot_ = snapshot;
  log_.Forget(snapshot.sequences);
  // One at the very place of the snapshot may be behind it. Where it is not, it
  // does no harm to send it again: it closes nothing.
  while (!flushes_.empty() && flushes_.front() < snapshot.sequences) {
    flushes_.pop_front();
    ++forgotten_flushes_;
  }
  return absl::OkStatus();
}

absl::Status ClientSession::Handle(const Drain&) {
  draining_ = true;
  return absl::OkStatus();
}

std::string ClientSession::Save() const {
  StateWriter writer = BeginState(kStateVersion, spec_);
  SaveTo(&writer);
  return SealState(std::move(writer).Take());
}

absl::StatusOr<ClientSession> ClientSession::Restore(const PackSpec& spec,
                                                     uint32_t batch_sequences,
                                                     absl::string_view state) {
  absl::StatusOr<StateReader> reader =
      OpenState(kState, kStateVersion, spec, state);
  if (!reader.ok()) return reader.status();
  ClientSession session(spec, batch_sequences, "");
  session.RestoreFrom(&*reader);
  if (!reader->AtEnd()) {
    return absl::InvalidArgumentError(
        absl::StrCat(kState, " contradicts itself"));
  }
  return session;
}

void ClientSession::SaveTo(StateWriter* writer) const {
  writer->Bytes(stream_id_);
  ledger_.Save(writer);
  writer->Number(packs_received_);
  writer->Number(units_received_);
  SavePacks(packs_, writer);
  writer->Number(ended_);
  writer->Number(end_given_);
  writer->Number(snapshot_.received_number);
  writer->Number(snapshot_.sequences);
  writer->Number(snapshot_.packs);
  writer->Bytes(snapshot_.state);
  const absl::Span<const uint32_t> lengths = log_.From(snapshot_.sequences);
  writer->Numbers(lengths);
  writer->Number(flushes_.size());
  for (const uint64_t flush : flushes_) {
    writer->Number(flush - snapshot_.sequences);
  }
  writer->Number(flushed_sequences_);
}

void ClientSession::RestoreFrom(StateReader* reader) {
  stream_id_ = std::string(reader->Bytes(kMaxStreamIdBytes));
  ledger_.Restore(reader);
  packs_received_ = reader->Count();
  units_received_ = reader->NumberUpTo(ledger_.units());
  packs_ = RestorePacks(given_sequences(), reader);
  ended_ = reader->NumberUpTo(1) == 1;
  end_given_ = reader->NumberUpTo(1) == 1;
  snapshot_.received_number = reader->Count();
  snapshot_.sequences = reader->NumberUpTo(given_sequences());
  snapshot_.packs = reader->NumberUpTo(packs_received_);
  snapshot_.state = std::string(reader->Bytes(kMaxSnapshotBytes));
  log_ = LengthLog(snapshot_.sequences);
  log_.Append(reader->Numbers(reader->left(), 0, LongestAccepted(spec_)));
  const uint64_t flushes = reader->NumberUpTo(reader->left());
  for (uint64_t i = 0; i < flushes && reader->ok(); ++i) {
    flushes_.push_back(snapshot_.sequences +
                       reader->NumberUpTo(given_sequences()));
  }
  flushed_sequences_ = reader->NumberUpTo(given_sequences());
  const bool agrees =
      log_.end_ordinal() == given_sequences() &&
      packs_.size() <= packs_received_ &&
      packs_.ordinals.size() <= units_received_ &&
      std::is_sorted(flushes_.begin(), flushes_.end()) &&
      (flushes_.empty() || flushes_.back() == flushed_sequences_) &&
      CheckLengths(spec_, log_.lengths(), 0).ok();
  if (!agrees) reader->Fail();
  was_opened_ = ended_;
  Connect(0);
}

}  // namespace packhouse
