#include "client/pack_call.h"

#include <utility>
#include <variant>

#include "session/codec/codec.h"

namespace packhouse {

PackCall::PackCall(std::shared_ptr<Stream> stream)
    : stream_(std::move(stream)), response_(Response()) {}

std::shared_ptr<PackCall> PackCall::Start(const RemoteServer& server,
                                          std::shared_ptr<Stream> stream) {
  std::shared_ptr<PackCall> call(new PackCall(std::move(stream)));
  call->self_ = call;
  v1::PackerService::Stub stub(server.channel());
  stub.async()->Pack(&call->context_, call.get());
  call->AddHold();
  call->StartRead(&call->response_message_);
  call->StartCall();
  return call;
}

void PackCall::SendNext() {
  absl::optional<Request> request;
  {
    absl::MutexLock lock(&mutex_);
    if (writing_ || writes_closed_) return;
    request = stream_->NextRequest(this);
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

void PackCall::OnReadDone(bool ok) {
  if (ok) {
    absl::Status status = Decode(response_message_, &*response_);
    const bool goes_on = status.ok() ? stream_->Receive(this, response_)
                                     : stream_->Receive(this, status);
    if (goes_on) {
      StartRead(&response_message_);
      SendNext();
      return;
    }
    Cancel();
  }
  absl::MutexLock lock(&mutex_);
  CloseWrites();
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
  stream_->EndCall(this, status);
  const std::shared_ptr<PackCall> self = std::move(self_);
  ended_.Notify();
}

void PackCall::CloseWrites() {
  writes_closed_ = true;
  if (writing_ || !holding_) return;
  holding_ = false;
  RemoveHold();
}

}  // namespace packhouse
