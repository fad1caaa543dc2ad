// Packs the lengths on standard input, in the packhoused at the target that is
// given or else in this process. Prints each pack as soon as it is decided: a
// line of ordinals, the places of its sequences in the input.

#include <cstdint>
#include <iostream>
#include <string>

#include "absl/strings/numbers.h"
#include "packhouse/client.h"

absl::Status PrintPacks(packhouse::PackStream& stream) {
  absl::StatusOr<packhouse::Packs> packs = stream.Take();
  if (!packs.ok()) return packs.status();
  for (size_t i = 0; i < packs->size(); ++i) {
    for (uint64_t ordinal : (*packs)[i]) std::cout << ordinal << " ";
    std::cout << "\n";
  }
  return std::cout.flush() ? absl::OkStatus()
                           : absl::UnknownError("cannot write the packs");
}

absl::Status PackInput(const std::string& target) {
  auto client = packhouse::Client::Create({target});
  if (!client.ok()) return client.status();
  packhouse::PackSpec spec;
  spec.capacity_tokens = 512;
  auto stream = (*client)->OpenStream(spec);
  if (!stream.ok()) return stream.status();

  absl::Status status;
  for (std::string word; status.ok() && std::cin >> word;) {
    uint32_t length = 0;
    if (!absl::SimpleAtoi(word, &length)) {
      return absl::InvalidArgumentError("not a length: " + word);
    }
    status = (*stream)->Add({length});  // refuses what fits in no pack
    if (status.ok()) status = PrintPacks(**stream);
  }
  if (status.ok()) status = (*stream)->End();
  return status.ok() ? PrintPacks(**stream) : status;
}

int main(int argc, char** argv) {
  const absl::Status status = PackInput(argc > 1 ? argv[1] : "");
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
