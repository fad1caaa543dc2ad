#include "session/client_session.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "packhouse/policy.h"

namespace packhouse {
namespace {

template <typename... Args>
absl::Status Violation(const Args&... args) {
  return absl::InternalError(
      absl::StrCat("the server broke the protocol: ", args...));
}

}  // namespace

ClientSession::ClientSession(const PackSpec& spec, uint32_t batch_sequences)
    : spec_(spec), batch_sequences_(batch_sequences), ledger_(spec) {}

absl::Status ClientSession::Add(absl::Span<const uint32_t> lengths) {
  if (end_given_) {
    return absl::FailedPreconditionError("sequences were added after the end");
  }
  absl::Status status = CheckLengths(spec_, lengths, given_sequences());
  if (!status.ok()) return status;
  ledger_.Give(lengths);
  Gather(lengths);
  return absl::OkStatus();
}

absl::Status ClientSession::Flush() {
  if (end_given_) {
    return absl::FailedPreconditionError("a flush was given after the end");
  }
  // Nothing was given since the last one: it would close nothing, and flushes
  // alone must not fill the queue.
  if (flushed_sequences_ == given_sequences()) return absl::OkStatus();
  flushed_sequences_ = given_sequences();
  Push();
  unsent_.push_back(packhouse::Flush{});
  return absl::OkStatus();
}

void ClientSession::End() {
  if (end_given_) return;
  Push();
  unsent_.push_back(packhouse::End{});
  end_given_ = true;
}

void ClientSession::Push() {
  if (gathered_.empty()) return;
  Batch batch;
  batch.lengths = std::exchange(gathered_, {});
  gathered_units_ = 0;
  unsent_.push_back(std::move(batch));
}

void ClientSession::Gather(absl::Span<const uint32_t> lengths) {
  while (!lengths.empty()) {
    const size_t n = RoomFor(lengths, &gathered_units_);
    gathered_.insert(gathered_.end(), lengths.begin(), lengths.begin() + n);
    lengths.remove_prefix(n);
    if (gathered_.size() >= batch_sequences_ ||
        gathered_units_ >= batch_sequences_) {
      Push();
    }
  }
}

size_t ClientSession::RoomFor(absl::Span<const uint32_t> lengths,
                              size_t* units) const {
  const size_t room =
      std::min<size_t>(lengths.size(), batch_sequences_ - gathered_.size());
  if (spec_.overlong != Overlong::kSplit) return room;
  size_t n = 0;
  while (n < room && *units < batch_sequences_) {
    *units += UnitCount(spec_, lengths[n++]);
  }
  return n;
}

void ClientSession::LimitBatches(uint32_t batch_sequences) {
  if (batch_sequences >= batch_sequences_) return;
  batch_sequences_ = batch_sequences;
  const std::deque<Input> inputs = std::exchange(unsent_, {});
  const std::vector<uint32_t> gathered = std::exchange(gathered_, {});
  gathered_units_ = 0;
  for (const Input& input : inputs) {
    if (const Batch* batch = std::get_if<Batch>(&input)) {
      Gather(batch->lengths);
      Push();
    } else {
      unsent_.push_back(input);
    }
  }
  Gather(gathered);
}

bool ClientSession::settled() const {
  if (end_given_) return ended_;
  return opened_ && unsent_.empty() && credit_.received_number == sent_number_;
}

Packs ClientSession::Take() { return std::exchange(packs_, Packs()); }

absl::optional<Request> ClientSession::NextRequest() {
  if (!status_.ok()) return absl::nullopt;
  if (!open_sent_) {
    open_sent_ = true;
    return Open{kProtocolVersion, spec_};
  }
  if (unsent_.empty() || sent_number_ >= credit_.max_number) {
    return absl::nullopt;
  }
  Input& input = unsent_.front();
  if (const Batch* batch = std::get_if<Batch>(&input)) {
    const uint64_t sequences = sent_sequences_ + batch->lengths.size();
    if (sequences > credit_.max_sequences) return absl::nullopt;
    sent_sequences_ = sequences;
  }
  end_sent_ = std::holds_alternative<packhouse::End>(input);
  ++sent_number_;
  Request request = std::visit(
      [this](auto& content) -> Request {
        content.number = sent_number_;
        return std::move(content);
      },
      input);
  unsent_.pop_front();
  return request;
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
  LimitBatches(opened.max_batch_sequences);
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
    if (ordinal >= sent_sequences_) {
      return Violation("pack ", number, " has ordinal ", ordinal, ", only ",
                       sent_sequences_, " sequences were sent");
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
  return absl::OkStatus();
}

}  // namespace packhouse
