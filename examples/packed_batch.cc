// Packs sequences of tokens in this process and fills what a trainer takes:
// ids, labels and positions of all rows, and the offsets of a variable-length
// attention kernel. Then it brings a result for each token back to its
// sequence.

#include "packhouse/packed_batch.h"

#include <cstdint>
#include <iostream>
#include <vector>

#include "packhouse/client.h"

namespace {

using namespace packhouse;  // NOLINT: an example

absl::Status Run(const std::vector<std::vector<int32_t>>& sequences) {
  PackSpec spec;
  spec.capacity_tokens = 16;
  std::vector<uint32_t> lengths;
  for (const auto& sequence : sequences) {
    lengths.push_back(static_cast<uint32_t>(sequence.size()));
  }
  auto client = Client::Create({});  // no target: in this process
  if (!client.ok()) return client.status();
  auto packs = (*client)->Plan(lengths, spec);
  if (!packs.ok()) return packs.status();

  auto batch = PackedBatch::Make(spec, PadMode::kSegment, *packs, lengths,
                                 /*first_ordinal=*/0, /*flat=*/true);
  if (!batch.ok()) return batch.status();
  const BatchLayout& layout = batch->layout();
  const int64_t T = layout.tokens(), n = layout.segments();
  std::vector<int64_t> ids(T), labels(T), positions(T);
  std::vector<int32_t> cu_seqlens(n + 1);
  absl::Status status = batch->Fill(
      FormatOptions(), DType::kInt32,
      [&](uint64_t ordinal) -> SequenceData {
        return {sequences[ordinal].data(), nullptr};
      },
      {{Format::kInputIds, HostTensor(ids.data(), {1, T})},
       {Format::kLabels, HostTensor(labels.data(), {1, T})},
       {Format::kPositionIds, HostTensor(positions.data(), {1, T})},
       {Format::kCuSeqlens, HostTensor(cu_seqlens.data(), {n + 1})}});
  if (!status.ok()) return status;
  std::cout << layout.packs() << " packs of " << layout.sequences()
            << " sequences, the longest of " << layout.max_segment() << ":";
  for (const int32_t offset : cu_seqlens) std::cout << " " << offset;
  std::cout << "\n";

  std::vector<std::vector<int64_t>> returned;
  for (const auto& sequence : sequences) returned.emplace_back(sequence.size());
  batch->UnpackTokens(ids.data(), sizeof(int64_t), [&](const PackedUnit& unit) {
    return returned[unit.ordinal].data() + unit.source_offset;
  });
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (!std::equal(returned[i].begin(), returned[i].end(),
                    sequences[i].begin())) {
      return absl::InternalError("a sequence did not come back");
    }
  }
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run({{1, 2, 3, 4, 5},
                                   {6, 7, 8, 9},
                                   {10, 11, 12},
                                   {13, 14, 15, 16, 17, 18, 19},
                                   {20, 21}});
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
