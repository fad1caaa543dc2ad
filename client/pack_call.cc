#include "client/pack_call.h"

#include <utility>
#include <variant>

#include "absl/types/optional.h"
#include "session/codec/codec.h"

namespace packhouse {
namespace {

// How far Add may run ahead of the writes, in batches. Enough that the sender
// has work while the adding thread sleeps until half of it is gone; a bound on
// memory where the server gives no credit.
constexpr uint64_t kMaxUnsentBatches = 16;

}  // namespace

PackCall::PackCall(const RemoteServer& server, const PackSpec& spec,
                   uint32_t batch_sequences)
    : server_(server),
      spec_(spec),
      batch_sequences_(batch_sequences),
      session_(spec, batch_sequences, /*stream_id=*/"") {
  context_.set_wait_for_ready(true);
  v1::PackerService::Stub stub(server_.channel());
  stub.async()->Pack(&context_, this);
  AddHold();
  StartRead(&response_message_);
  SendNext();
  StartCall();
}

absl::Status PackCall::WaitOpened() {
  absl::MutexLock lock(&mutex_);
  return Await(&PackCall::IsOpened, "answer to the opening of the stream");
}

absl::Status PackCall::Add(absl::Span<const uint32_t> lengths) {
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
  do {
    const auto piece = lengths.subspan(0, batch_sequences_);
    lengths.remove_prefix(piece.size());
    {
      absl::MutexLock lock(&mutex_);
      if (session_.unsent_sequences() >= kMaxUnsentBatches * batch_sequences_) {
        status = Await(&PackCall::HasRoom, "credit for the next sequences");
        if (!status.ok()) return status;
      }
      if (!status_.ok()) return status_;
      status = session_.Add(piece);
      if (!status.ok()) return status;
    }
    SendNext();
  } while (!lengths.empty());
  return absl::OkStatus();
}

absl::Status PackCall::Flush() {
  absl::MutexLock input_lock(&input_mutex_);
  {
    absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    absl::Status status = session_.Flush();
    if (!status.ok()) return status;
  }
  SendNext();
  return absl::OkStatus();
}

absl::Status PackCall::Wait() {
  {
    absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    session_.Push();
  }
  SendNext();
  absl::MutexLock lock(&mutex_);
  return Await(&PackCall::IsSettled, "answer to what was sent");
}

absl::Status PackCall::End() {
  {
    absl::MutexLock input_lock(&input_mutex_);
    absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    session_.End();
  }
  SendNext();
  absl::MutexLock lock(&mutex_);
  return Await(&PackCall::IsOver, "answer to the end of the stream");
}

absl::StatusOr<Packs> PackCall::Take() {
  absl::MutexLock lock(&mutex_);
  Packs packs = session_.Take();
  if (packs.empty() && !status_.ok()) return status_;
  return packs;
}

bool PackCall::Close() {
  absl::MutexLock lock(&mutex_);
  if (!done_) Fail(absl::CancelledError("the stream was abandoned"));
  return mutex_.AwaitWithTimeout(absl::Condition(&done_), server_.wait_limit());
}

void PackCall::OnReadDone(bool ok) {
  if (!ok) {
    absl::MutexLock lock(&mutex_);
    CloseWrites();
    return;
  }
  absl::Status status = Decode(response_message_, &response_);
  {
    absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return;
    ++responses_;
    if (status.ok()) status = session_.Receive(response_);
    if (!status.ok()) {
      Fail(server_.Error(status.code(), status.message()));
      return;
    }
  }
  StartRead(&response_message_);
  SendNext();
}

void PackCall::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (!ok || writes_closed_) {
      CloseWrites();
      return;
    }
  }
  SendNext();
}

void PackCall::OnDone(const grpc::Status& status) {
  absl::MutexLock lock(&mutex_);
  done_ = true;
  if (!status_.ok() || session_.ended()) return;
  status_ = status.ok() ? server_.Error(absl::StatusCode::kInternal,
                                        "the stream was closed before its end")
                        : server_.Error(status);
}

void PackCall::SendNext() {
  absl::optional<Request> request;
  {
    absl::MutexLock lock(&mutex_);
    if (writing_ || writes_closed_) return;
    request = session_.NextRequest();
    if (!request.has_value()) return;
    writing_ = true;
  }
  grpc::WriteOptions options;
  if (std::holds_alternative<packhouse::End>(*request)) {
    options.set_last_message();
  }
  Encode(*request, &request_message_);
  StartWrite(&request_message_, options);
}

absl::Status PackCall::Await(bool (PackCall::*condition)() const,
                             absl::string_view what) {
  const absl::Condition reached(this, condition);
  uint64_t heard;
  do {
    heard = responses_;
    if (mutex_.AwaitWithTimeout(reached, server_.wait_limit())) return status_;
  } while (responses_ != heard);
  Fail(server_.Late(what));
  return status_;
}

bool PackCall::IsOpened() const { return !status_.ok() || session_.opened(); }

bool PackCall::HasRoom() const {
  return !status_.ok() || session_.unsent_sequences() <=
                              kMaxUnsentBatches / 2 * batch_sequences_;
}

bool PackCall::IsSettled() const { return !status_.ok() || session_.settled(); }

bool PackCall::IsOver() const { return !status_.ok() || done_; }

void PackCall::Fail(const absl::Status& status) {
  if (!status_.ok()) return;
  status_ = status;
  context_.TryCancel();
  CloseWrites();
}

void PackCall::CloseWrites() {
  writes_closed_ = true;
  if (writing_ || !holding_) return;
  holding_ = false;
  RemoveHold();
}

}  // namespace packhouse
