#include "client/stream_id.h"

#include <cstdint>
#include <random>

#include "absl/strings/str_cat.h"
#include "session/messages.h"

namespace packhouse {

absl::Status CheckStream(const PackSpec& spec, absl::string_view stream_id) {
  if (stream_id.size() > kMaxStreamIdBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("stream_id has ", stream_id.size(),
                     " bytes, must have at most ", kMaxStreamIdBytes));
  }
  return ValidateSpec(spec);
}

std::string StreamId(absl::string_view stream_id) {
  if (!stream_id.empty()) return std::string(stream_id);
  std::random_device random;
  std::string name;
  for (int i = 0; i < 4; ++i) {
    const uint32_t word = random();
    absl::StrAppend(&name, absl::Hex(word, absl::kZeroPad8));
  }
  return name;
}

}  // namespace packhouse
