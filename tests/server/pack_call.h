#ifndef PACKHOUSE_TESTS_SERVER_PACK_CALL_H_
#define PACKHOUSE_TESTS_SERVER_PACK_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <variant>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "packhouse/packs.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "session/codec/codec.h"
#include "session/messages.h"
#include "tests/status_matchers.h"

namespace packhouse {

// For every wait, far more than it should take.
inline constexpr absl::Duration kLimit = absl::Seconds(60);

inline Open OpenWith(const PackSpec& spec) {
  Open open;
  open.spec = spec;
  return open;
}

// One Pack call, with structs in place of messages.
class PackCall {
 public:
  explicit PackCall(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::PackerService::NewStub(channel)) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + kLimit));
    stream_ = stub_->Pack(&context_);
  }

  // Opens the stream; false if it is refused.
  bool SendOpen(const Open& open) {
    Response response;
    return Send(open) && Read(&response) &&
           std::holds_alternative<Opened>(response.event);
  }

  bool Send(const Request& request) {
    v1::PackRequest message;
    Encode(request, &message);
    return stream_->Write(message);
  }

  // False at the end of the stream.
  bool Read(Response* response) {
    v1::PackResponse message;
    if (!stream_->Read(&message)) return false;
    EXPECT_THAT(Decode(message, response), IsOk());
    return true;
  }

  // Appends the packs of all responses up to the end.
  void ReadAll(Packs* packs) {
    Response response;
    while (Read(&response)) {
      if (const auto* list = std::get_if<PackList>(&response.event)) {
        EXPECT_EQ(list->first_number, packs->size() + 1);
        packs->Append(list->packs);
      }
      if (const auto* ended = std::get_if<Ended>(&response.event)) {
        EXPECT_EQ(ended->packs, packs->size());
        EXPECT_EQ(ended->sequences, packs->ordinals.size());
      }
    }
  }

  void WritesDone() { stream_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }

  absl::Status Finish() {
    end_ = stream_->Finish();
    return absl::Status(static_cast<absl::StatusCode>(end_.error_code()),
                        end_.error_message());
  }

  // After Finish: with its details.
  const grpc::Status& end() const { return end_; }

 private:
  std::unique_ptr<v1::PackerService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::PackRequest, v1::PackResponse>>
      stream_;
  grpc::Status end_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_SERVER_PACK_CALL_H_
