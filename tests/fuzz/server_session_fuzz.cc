// Requests of any kind, in any order, and states that come back changed: a
// server session says no in the documented ways, and what it sends keeps the
// protocol.

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "packing/seal.h"
#include "session/reason.h"
#include "session/server_session.h"
#include "tests/fuzz/fuzz.h"

namespace packhouse {
namespace {

// What a client may believe, and this one does: it checks nothing itself.
class Peer {
 public:
  explicit Peer(FuzzBytes* bytes) : bytes_(*bytes) { NewSession(); }

  void Step() {
    std::vector<Response> responses;
    switch (bytes_.Between(0, 9)) {
      case 0:
        return Receive(MakeOpen());
      case 1:
        return Receive(Flush{Number()});
      case 2:
        return Receive(End{Number()});
      case 3:
        return Receive(std::monostate());
      case 4:
        session_->AppendSnapshot(&responses);
        break;
      case 5:
        session_->Drain(1, &responses);
        break;
      case 6:
        return NewSession();
      default:
        return Receive(Batch{Number(), Lengths()});
    }
    Check(responses);
  }

 private:
  void NewSession() {
    SessionLimits limits;
    limits.max_window_sequences = 1 << 12;
    limits.max_batch_sequences = 64;
    limits.snapshot_sequences = 1 + bytes_.Byte();
    limits.snapshot_inputs = 1 + bytes_.Byte();
    session_.emplace(limits, 1);
    number_ = 0;
    packs_ = 0;
  }

  Open MakeOpen() {
    Open open;
    if (bytes_.Between(0, 15) == 0) open.protocol_version = bytes_.Byte();
    open.stream_id = std::string(bytes_.Byte(), 'x');
    if (bytes_.Between(0, 1) == 0) spec_ = TakeSpec(&bytes_);
    open.spec = spec_;
    if (bytes_.Between(0, 1) == 0) return open;
    open.resume.emplace();
    open.resume->received_packs = bytes_.Between(0, 300);
    open.resume->state = state_;
    if (!state_.empty() && bytes_.Between(0, 1) == 0) {
      // Under a sound seal, or no change would get far.
      std::string body = state_.substr(0, state_.size() - kSealBytes);
      body[bytes_.Between(0, body.size() - 1)] =
          static_cast<char>(bytes_.Byte());
      open.resume->state = SealState(std::move(body));
    }
    packs_ = open.resume->received_packs;
    return open;
  }

  uint64_t Number() {
    const uint64_t off = bytes_.Byte();
    return off < 240 ? number_ + 1 : number_ + off - 246;
  }

  std::vector<uint32_t> Lengths() {
    if (bytes_.Between(0, 7) != 0) return TakeLengths(spec_, 40, &bytes_);
    std::vector<uint32_t> lengths(bytes_.Byte());
    for (uint32_t& length : lengths) {
      length = static_cast<uint32_t>(bytes_.Between(0, ~uint32_t{0}));
    }
    return lengths;
  }

  void Receive(const Request& request) {
    std::vector<Response> responses;
    const absl::Status status = session_->Receive(request, &responses);
    if (!status.ok()) {
      Require(ReasonOf(status).has_value(), status.ToString());
      Require(status.message().size() < 2048, "a long error");
      Require(responses.empty(), "responses of a request that failed");
      return NewSession();
    }
    Require(!responses.empty() && responses.back().credit.has_value(),
            "no credit");
    Check(responses);
    number_ = responses.back().credit->received_number;
    if (session_->ended()) NewSession();
  }

  void Check(const std::vector<Response>& responses) {
    for (const Response& response : responses) {
      if (const auto* list = std::get_if<PackList>(&response.event)) {
        Require(list->first_number == packs_ + 1, "packs out of order");
        packs_ += list->packs.size();
        for (size_t i = 0; i < list->packs.size(); ++i) {
          Require(!list->packs[i].empty(), "an empty pack");
        }
      } else if (const auto* snapshot =
                     std::get_if<Snapshot>(&response.event)) {
        Require(snapshot->packs == packs_, "a snapshot ahead of its packs");
        Require(snapshot->state.size() <= kMaxSnapshotBytes, "a large state");
        state_ = snapshot->state;
      }
    }
  }

  FuzzBytes& bytes_;
  absl::optional<ServerSession> session_;
  PackSpec spec_;
  std::string state_;
  uint64_t number_ = 0;
  uint64_t packs_ = 0;
};

}  // namespace
}  // namespace packhouse

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  packhouse::FuzzBytes bytes(data, size);
  packhouse::Peer peer(&bytes);
  while (!bytes.empty()) peer.Step();
  return 0;
}
