#include "packing/seal.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace packhouse {
namespace {

uint64_t Checksum(absl::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

std::string ChecksumBytes(absl::string_view bytes) {
  std::string text;
  for (uint64_t sum = Checksum(bytes); text.size() < kSealBytes; sum >>= 8) {
    text.push_back(static_cast<char>(sum));
  }
  return text;
}

}  // namespace

uint64_t Fingerprint(const PackSpec& spec) {
  StateWriter writer;
  writer.Number(spec.capacity_tokens);
  writer.Number(spec.window_sequences);
  writer.Number(spec.max_sequences_per_pack);
  writer.Number(spec.sequence_alignment);
  writer.Number(static_cast<uint64_t>(spec.overlong));
  writer.Number(static_cast<uint64_t>(spec.empty));
  writer.Number(spec.seed.has_value());
  writer.Number(spec.seed.value_or(0));
  writer.Number(static_cast<uint64_t>(spec.effort));
  writer.Number(spec.max_displacement);
  return Checksum(absl::StrCat(std::move(writer).Take(), spec.algorithm));
}

StateWriter BeginState(uint64_t version, const PackSpec& spec) {
  StateWriter writer;
  writer.Number(version);
  writer.Number(Fingerprint(spec));
  return writer;
}

std::string SealState(std::string bytes) {
  bytes += ChecksumBytes(bytes);
  return bytes;
}

absl::StatusOr<StateReader> OpenState(absl::string_view what, uint64_t version,
                                      const PackSpec& spec,
                                      absl::string_view state) {
  const auto refuse = [what](const std::string& why) {
    return absl::InvalidArgumentError(absl::StrCat(what, " ", why));
  };
  const size_t size = state.size() - std::min(state.size(), kSealBytes);
  const absl::string_view bytes = state.substr(0, size);
  if (ChecksumBytes(bytes) != state.substr(size)) return refuse("is damaged");
  StateReader reader(bytes);
  const uint64_t found = reader.Number();
  if (found != version) {
    return refuse(
        absl::StrCat("has version ", found, ", this build knows ", version));
  }
  if (reader.Number() != Fingerprint(spec)) return refuse("is of another spec");
  return reader;
}

}  // namespace packhouse
