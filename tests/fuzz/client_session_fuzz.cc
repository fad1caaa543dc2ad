// Responses of any kind: a client session takes what the protocol allows and
// finds the rest out. It never hands out a unit that it did not give, or twice.

#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "packhouse/policy.h"
#include "session/client_session.h"
#include "tests/fuzz/fuzz.h"

namespace packhouse {
namespace {

Packs MakePacks(uint64_t near, FuzzBytes* bytes) {
  Packs packs;
  const bool has_offsets = bytes->Between(0, 3) == 0;
  for (uint64_t i = bytes->Between(0, 3); i > 0; --i) {
    for (uint64_t unit = bytes->Between(0, 4); unit > 0; --unit) {
      packs.ordinals.push_back(near + bytes->Between(0, 7));
      if (has_offsets) {
        packs.source_offsets.push_back(
            static_cast<uint32_t>(bytes->Between(0, 300)));
      }
    }
    packs.offsets.push_back(packs.ordinals.size());
  }
  return packs;
}

Response MakeResponse(uint64_t near, uint64_t pack, FuzzBytes* bytes) {
  Response response;
  switch (bytes->Between(0, 8)) {
    case 0:
      response.event = Opened{1, 1, bytes->Byte(), 1, 1};
      break;
    case 1:
      response.event = Refused{bytes->Byte(), absl::InvalidArgumentError("no")};
      break;
    case 2:
      response.event = Ended{bytes->Byte(), bytes->Byte(), bytes->Byte()};
      break;
    case 3:
      response.event = Snapshot{bytes->Byte(), near + bytes->Between(0, 3),
                                pack, std::string(bytes->Byte(), 's')};
      break;
    case 4:
      response.event = Drain{1};
      break;
    case 5:
      break;
    default:
      response.event = PackList{pack + 1, MakePacks(near, bytes)};
  }
  if (bytes->Between(0, 1) == 0) {
    response.credit = Credit{bytes->Byte(), bytes->Byte(), bytes->Byte()};
  }
  return response;
}

}  // namespace
}  // namespace packhouse

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace packhouse;
  FuzzBytes bytes(data, size);
  const PackSpec spec = TakeSpec(&bytes);
  ClientSession session(spec, 1 + bytes.Byte() % 16, "stream");
  std::vector<uint32_t> given;
  std::set<std::pair<uint64_t, uint32_t>> taken;
  uint64_t packs = 0;
  while (!bytes.empty()) {
    switch (bytes.Between(0, 7)) {
      case 0: {
        const std::vector<uint32_t> lengths = TakeLengths(spec, 20, &bytes);
        if (session.Add(lengths).ok()) {
          given.insert(given.end(), lengths.begin(), lengths.end());
        }
        break;
      }
      case 1:
        session.Flush().IgnoreError();
        break;
      case 2:
        if (bytes.Between(0, 15) == 0) session.End();
        session.Push();
        break;
      case 3:
        session.Connect(bytes.Byte());
        break;
      case 4: {
        absl::StatusOr<ClientSession> restored =
            ClientSession::Restore(spec, 1 + bytes.Byte() % 16, session.Save());
        Require(restored.ok(), restored.status().ToString());
        session = *std::move(restored);
        break;
      }
      case 5:
      case 6:
        for (int i = 0; i < 8 && session.NextRequest().has_value(); ++i) {
        }
        break;
      default: {
        const uint64_t near = bytes.Between(0, given.size());
        const absl::Status status =
            session.Receive(MakeResponse(near, packs, &bytes));
        Require(status.message().size() < 2048, "a long error");
        break;
      }
    }
    const Packs came = session.Take();
    packs += came.size();
    for (size_t i = 0; i < came.ordinals.size(); ++i) {
      Require(came.ordinals[i] < given.size(), "a sequence nobody gave");
      Require(taken.insert({came.ordinals[i], came.source_offset(i)}).second,
              "a unit twice");
    }
    Require(session.position().packs == packs, "packs are miscounted");
  }
  return 0;
}
