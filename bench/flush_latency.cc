// How long a sequence waits for its pack on a quiet stream: from the last
// length that was given to the pack that was taken, with the client option
// flush_after.
//
//   flush_latency TARGET FLUSH_AFTER_MS TIMES
//
// prints one number a line, in microseconds.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/time/clock.h"
#include "packhouse/client.h"

namespace {

using namespace packhouse;  // NOLINT: a program

// Takes the packs of what was given; waits a minute for them at most.
absl::Status AwaitPacks(PackStream& stream) {
  const absl::Time limit = absl::Now() + absl::Minutes(1);
  while (absl::Now() < limit) {
    absl::StatusOr<Packs> packs = stream.Take();
    if (!packs.ok() || !packs->empty()) return packs.status();
    absl::SleepFor(absl::Microseconds(50));
  }
  return absl::DeadlineExceededError("no packs within a minute");
}

absl::Status Run(const std::string& target, int flush_after_ms, int times) {
  ClientOptions options;
  options.target = target;
  options.flush_after = absl::Milliseconds(flush_after_ms);
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Create(options);
  if (!client.ok()) return client.status();
  PackSpec spec;
  spec.capacity_tokens = 8192;
  absl::StatusOr<std::unique_ptr<PackStream>> stream =
      (*client)->OpenStream(spec);
  if (!stream.ok()) return stream.status();
  for (int i = 0; i < times; ++i) {
    if (auto status = (*stream)->Add({100, 200, 300}); !status.ok()) {
      return status;
    }
    const absl::Time begin = absl::Now();
    if (auto status = AwaitPacks(**stream); !status.ok()) return status;
    std::printf("%.1f\n", absl::ToDoubleMicroseconds(absl::Now() - begin));
  }
  return (*stream)->End();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: flush_latency TARGET FLUSH_AFTER_MS TIMES\n");
    return 2;
  }
  const absl::Status status =
      Run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  }
  return status.ok() ? 0 : 1;
}
