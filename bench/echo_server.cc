// A server of PackerService.Pack that packs nothing: what gRPC and protobuf
// alone cost, to compare packhoused with.
//
// It reads what packhoused reads and writes messages of the same size: a batch
// of n lengths is answered by n ordinals in packs of --per-pack units, and
// credit. The answer is made once for each n; then only its numbers change.
//
// usage: echo_server unix:PATH PER_PACK; prints `listening` once it serves and
// ends with its standard input.

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "packhouse/v1/packhouse.grpc.pb.h"
#include "session/limits.h"
#include "session/messages.h"

namespace packhouse {
namespace {

// Units as a window mixes them: those of a pack ascend and lie far apart.
void MakePacks(uint32_t units, uint32_t per_pack, v1::PackList* list) {
  list->Clear();
  const uint32_t packs = (units + per_pack - 1) / per_pack;
  for (uint32_t pack = 0; pack < packs; ++pack) {
    uint32_t size = 0;
    for (uint32_t i = pack; i < units; i += packs, ++size) {
      list->add_ordinals(i);
    }
    list->add_sizes(size);
  }
}

// One read or write at a time, as the answer to each request is complete.
class EchoReactor final
    : public grpc::ServerBidiReactor<v1::PackRequest, v1::PackResponse> {
 public:
  explicit EchoReactor(uint32_t per_pack) : per_pack_(per_pack) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away"));
      return;
    }
    Answer();
    StartWrite(&response_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok || request_.has_end()) {
      Finish(grpc::Status::OK);
    } else {
      StartRead(&request_);
    }
  }

  void OnDone() override { delete this; }

 private:
  void Answer() {
    switch (request_.content_case()) {
      case v1::PackRequest::kOpen:
        response_.mutable_opened()->set_protocol_version(kProtocolVersion);
        response_.mutable_opened()->set_max_batch_sequences(kMaxBatchSequences);
        break;
      case v1::PackRequest::kBatch:
        AnswerBatch(static_cast<uint32_t>(request_.batch().lengths_size()));
        break;
      case v1::PackRequest::kEnd:
        response_.mutable_ended()->set_sequences(sequences_);
        break;
      default:
        response_.clear_event();
    }
    if (!request_.has_open()) ++received_number_;
    const SessionLimits limits;
    v1::Credit* credit = response_.mutable_credit();
    credit->set_received_number(received_number_);
    credit->set_max_number(received_number_ + limits.credit_inputs);
    credit->set_max_sequences(sequences_ + limits.credit_sequences);
  }

  void AnswerBatch(uint32_t units) {
    v1::PackList* list = response_.mutable_packs();
    if (list->ordinals_size() != static_cast<int>(units)) {
      MakePacks(units, per_pack_, list);
    }
    list->set_first_number(packs_ + 1);
    list->set_base_ordinal(sequences_);
    packs_ += static_cast<uint64_t>(list->sizes_size());
    sequences_ += units;
  }

  const uint32_t per_pack_;
  v1::PackRequest request_;
  v1::PackResponse response_;
  uint64_t received_number_ = 0;
  uint64_t sequences_ = 0;
  uint64_t packs_ = 0;
};

class EchoService final : public v1::PackerService::CallbackService {
 public:
  explicit EchoService(uint32_t per_pack) : per_pack_(per_pack) {}

  grpc::ServerBidiReactor<v1::PackRequest, v1::PackResponse>* Pack(
      grpc::CallbackServerContext*) override {
    return new EchoReactor(per_pack_);
  }

 private:
  const uint32_t per_pack_;
};

int Main(int argc, char** argv) {
  const int per_pack = argc == 3 ? std::atoi(argv[2]) : 0;
  if (per_pack < 1) {
    std::fprintf(stderr, "usage: echo_server unix:PATH PER_PACK\n");
    return 2;
  }
  EchoService service(static_cast<uint32_t>(per_pack));
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.AddListeningPort(argv[1], grpc::InsecureServerCredentials());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 2;
  std::puts("listening");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

}  // namespace
}  // namespace packhouse

int main(int argc, char** argv) { return packhouse::Main(argc, argv); }
