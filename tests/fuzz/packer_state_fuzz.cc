// A state from anyone: refused, or a packer that keeps all promises.
//
// The version, the fingerprint of the spec and the checksum are made right, so
// that what comes behind them is looked at.

#include "absl/strings/str_cat.h"
#include "packhouse/packer.h"
#include "tests/fuzz/fuzz.h"
#include "tests/packing/packer_state.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace packhouse;
  FuzzBytes bytes(data, size);
  const PackSpec spec = TakeSpec(&bytes);
  const size_t flush = bytes.Byte();
  const std::vector<uint32_t> lengths = TakeLengths(spec, 31, &bytes);

  std::string head = Packer::Create(spec)->Save();
  const PackerState fresh = Decode(spec, head);
  size_t end = 1;  // behind the version; then comes the fingerprint
  for (uint64_t rest = fresh.fingerprint; rest >= 128; rest /= 128) ++end;
  head.resize(end + 1);
  const std::string state =
      WithChecksum(absl::StrCat(head, bytes.Rest(), std::string(8, '\0')));
  const absl::StatusOr<uint64_t> packs = UseState(spec, state, lengths, flush);
  Require(packs.ok() || absl::IsInvalidArgument(packs.status()),
          packs.status().ToString());
  return 0;
}
