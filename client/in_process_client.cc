#include "client/in_process_client.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "packhouse/packer.h"
#include "packhouse/plan.h"

namespace packhouse {
namespace {

// Answers at once, so there is nothing to wait for.
class InProcessStream final : public PackStream {
 public:
  explicit InProcessStream(Packer packer) : packer_(std::move(packer)) {}

  absl::Status Add(absl::Span<const uint32_t> lengths) override {
    absl::MutexLock lock(&mutex_);
    return packer_.Add(lengths, &packs_);
  }

  absl::Status Flush() override {
    absl::MutexLock lock(&mutex_);
    return packer_.Flush(&packs_);
  }

  absl::Status Wait() override { return absl::OkStatus(); }

  absl::Status End() override {
    absl::MutexLock lock(&mutex_);
    if (std::exchange(ended_, true)) return absl::OkStatus();
    return packer_.Finish(&packs_);
  }

  absl::StatusOr<Packs> Take() override {
    absl::MutexLock lock(&mutex_);
    return std::exchange(packs_, Packs());
  }

 private:
  absl::Mutex mutex_;
  Packer packer_ ABSL_GUARDED_BY(mutex_);
  Packs packs_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

class InProcessClient final : public Client {
 public:
  absl::StatusOr<std::unique_ptr<PackStream>> OpenStream(
      const PackSpec& spec) override {
    absl::StatusOr<Packer> packer = Packer::Create(spec);
    if (!packer.ok()) return packer.status();
    return std::make_unique<InProcessStream>(*std::move(packer));
  }

  absl::StatusOr<Packs> Plan(absl::Span<const uint32_t> lengths,
                             const PackSpec& spec) override {
    return packhouse::Plan(lengths, spec);
  }

  absl::Status CheckHealth() override { return absl::OkStatus(); }
};

}  // namespace

std::unique_ptr<Client> MakeInProcessClient() {
  return std::make_unique<InProcessClient>();
}

}  // namespace packhouse
