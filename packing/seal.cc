#include "packing/seal.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "packing/state.h"

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

std::string Seal(std::string bytes) {
  bytes += ChecksumBytes(bytes);
  return bytes;
}

absl::optional<absl::string_view> Unseal(absl::string_view sealed) {
  if (sealed.size() < kSealBytes) return absl::nullopt;
  const size_t size = sealed.size() - kSealBytes;
  const absl::string_view bytes = sealed.substr(0, size);
  if (ChecksumBytes(bytes) != sealed.substr(size)) return absl::nullopt;
  return bytes;
}

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

}  // namespace packhouse
