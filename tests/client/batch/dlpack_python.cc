// FromDlpack and ToDlpack as tests/system/test_dlpack.py calls them, through
// ctypes.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "packhouse/batch_layout.h"
#include "packhouse/dlpack.h"
#include "packhouse/fill.h"

namespace packhouse {
namespace {

// Rows of one sequence each, with a token of padding at the end.
absl::StatusOr<BatchLayout> MakeLayout(int64_t rows, int64_t tokens) {
  LayoutSpec spec;
  spec.row_tokens = tokens;
  std::vector<uint64_t> offsets(static_cast<size_t>(rows) + 1);
  for (size_t row = 0; row < offsets.size(); ++row) offsets[row] = row;
  const std::vector<uint32_t> lengths(static_cast<size_t>(rows),
                                      static_cast<uint32_t>(tokens - 1));
  return BatchLayout::Make(spec, lengths, offsets);
}

absl::Status FillPositions(const absl::StatusOr<SharedTensor>& shared) {
  if (!shared.ok()) return shared.status();
  const Tensor& tensor = shared->tensor;
  if (tensor.shape.size() != 2) {
    return absl::InvalidArgumentError("the test gives two dimensions");
  }
  const auto layout = MakeLayout(tensor.shape[0], tensor.shape[1]);
  if (!layout.ok()) return layout.status();
  return Fill(*layout, FormatOptions(), Sources(),
              {{Format::kPositionIds, tensor}});
}

std::atomic<int> living_masks = 0;

struct Mask32 {
  explicit Mask32(size_t elements) : memory(elements, 7) { ++living_masks; }
  ~Mask32() { --living_masks; }
  std::vector<float> memory;
};

SharedTensor MakeMask(int64_t tokens, int64_t pitch) {
  auto mask = std::make_shared<Mask32>(static_cast<size_t>(tokens * pitch));
  Tensor tensor = HostTensor(mask->memory.data(), {1, 1, tokens, tokens});
  tensor.pitch = pitch;
  const auto layout = MakeLayout(1, tokens);
  const absl::Status status = layout.ok()
                                  ? Fill(*layout, FormatOptions(), Sources(),
                                         {{Format::kDenseMask, tensor}})
                                  : layout.status();
  if (!status.ok()) return {};
  return {tensor, std::move(mask)};
}

}  // namespace
}  // namespace packhouse

extern "C" {

// Takes the tensor over and writes position_ids into it. `error` gets the text
// of what is wrong, cut to its bytes; an empty one where nothing is.
void FillPositions(void* managed, bool versioned, char* error,
                   uint64_t error_bytes) {
  using packhouse::FromDlpack;
  const absl::Status status = packhouse::FillPositions(
      versioned ? FromDlpack(packhouse::DlpackVersionedPtr(
                      static_cast<packhouse::DlpackManagedVersioned*>(managed)))
                : FromDlpack(packhouse::DlpackPtr(
                      static_cast<packhouse::DlpackManaged*>(managed))));
  std::strncpy(error, std::string(status.message()).c_str(), error_bytes - 1);
  error[error_bytes - 1] = '\0';
}

// A causal mask of float32, [1, 1, tokens, tokens], whose lines are `pitch`
// apart; its taker owns it.
void* GiveMask(bool versioned, int64_t tokens, int64_t pitch) {
  const packhouse::SharedTensor mask = packhouse::MakeMask(tokens, pitch);
  if (versioned) return packhouse::ToDlpackVersioned(mask).release();
  absl::StatusOr<packhouse::DlpackPtr> managed = packhouse::ToDlpack(mask);
  return managed.ok() ? managed->release() : nullptr;
}

// Masks that were given and are not deleted yet.
int LivingMasks() { return packhouse::living_masks; }

}  // extern "C"
