// Packs the lengths on standard input; with an argument in the packhoused at
// that target, without one in this process. Prints a pack a line.

#include <cstdint>
#include <iostream>
#include <vector>

#include "packhouse/client.h"

int main(int argc, char** argv) {
  packhouse::PackSpec spec;
  spec.capacity_tokens = 512;
  auto client = packhouse::Client::Create({argc > 1 ? argv[1] : ""});
  if (!client.ok()) return std::cerr << client.status() << "\n", 2;
  auto stream = (*client)->OpenStream(spec);
  if (!stream.ok()) return std::cerr << stream.status() << "\n", 1;

  for (uint32_t length; std::cin >> length;) {
    // Refuses a length that fits no pack, by name; the stream goes on.
    absl::Status status = (*stream)->Add({length});
    if (!status.ok()) std::cerr << status << "\n";
  }
  if (absl::Status status = (*stream)->End(); !status.ok()) {
    return std::cerr << status << "\n", 1;
  }
  const packhouse::Packs packs = *(*stream)->Take();
  for (size_t i = 0; i < packs.size(); ++i) {
    for (uint64_t ordinal : packs[i]) std::cout << ordinal << " ";
    std::cout << "\n";
  }
}
