// A program that may be killed at any moment and goes on when it is started
// again: it packs the lengths of a file, a number a line, and appends each pack
// to another file, as a line of ordinals.
//
//   resume LENGTHS PACKS STATE [TARGET]
//
// What a checkpoint of a training job would hold is in STATE here: the state of
// the stream, and how long PACKS was with the packs that it counts as taken.
// What was written behind that is cut off at the start, and written anew.

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/numbers.h"
#include "packhouse/client.h"

namespace {

constexpr int kPacksPerState = 100;

struct Checkpoint {
  uint64_t packs_bytes = 0;
  std::string stream;  // empty: nothing was saved
};

// A state is written beside its place and then put there: it is the old one or
// the new one at any moment.
absl::Status Save(const Checkpoint& checkpoint, const std::string& path) {
  const std::string text =
      std::to_string(checkpoint.packs_bytes) + "\n" + checkpoint.stream;
  const std::string beside = path + ".new";
  const int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const bool is_written = file >= 0 &&
                          write(file, text.data(), text.size()) ==
                              static_cast<ssize_t>(text.size()) &&
                          fsync(file) == 0 && close(file) == 0 &&
                          std::rename(beside.c_str(), path.c_str()) == 0;
  return is_written ? absl::OkStatus()
                    : absl::UnknownError("cannot write " + path);
}

Checkpoint Load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Checkpoint checkpoint;
  if (file >> checkpoint.packs_bytes && file.get() == '\n') {
    checkpoint.stream.assign(std::istreambuf_iterator<char>(file), {});
  }
  return checkpoint;
}

// Packs as they are taken, and states now and then.
class Output {
 public:
  Output(const std::string& packs_path, const std::string& state_path,
         uint64_t packs_bytes)
      : state_path_(state_path), packs_bytes_(packs_bytes) {
    std::ofstream(packs_path, std::ios::app);  // creates it
    std::filesystem::resize_file(packs_path, packs_bytes);
    packs_.open(packs_path, std::ios::app);
  }

  absl::Status Take(packhouse::PackStream& stream) {
    absl::StatusOr<packhouse::Packs> packs = stream.Take();
    if (!packs.ok()) return packs.status();
    for (size_t i = 0; i < packs->size(); ++i) {
      std::ostringstream line;
      for (const uint64_t ordinal : (*packs)[i]) line << ordinal << " ";
      line << "\n";
      packs_ << line.str();
      packs_bytes_ += line.str().size();
    }
    unsaved_packs_ += packs->size();
    return unsaved_packs_ < kPacksPerState ? absl::OkStatus() : Save(stream);
  }

  // The packs first: a state must not count what is not there.
  absl::Status Save(packhouse::PackStream& stream) {
    if (!packs_.flush()) return absl::UnknownError("cannot write the packs");
    absl::StatusOr<std::string> state = stream.Save();
    if (!state.ok()) return state.status();
    unsaved_packs_ = 0;
    return ::Save({packs_bytes_, *state}, state_path_);
  }

 private:
  const std::string state_path_;
  std::ofstream packs_;
  uint64_t packs_bytes_;
  uint64_t unsaved_packs_ = 0;
};

absl::Status PackFile(const std::string& lengths_path,
                      const std::string& packs_path,
                      const std::string& state_path,
                      const std::string& target) {
  auto client = packhouse::Client::Create({target});
  if (!client.ok()) return client.status();
  packhouse::PackSpec spec;
  spec.capacity_tokens = 2048;
  spec.algorithm = "sliding";
  spec.window_sequences = 256;

  const Checkpoint checkpoint = Load(state_path);
  auto stream = checkpoint.stream.empty()
                    ? (*client)->OpenStream(spec)
                    : (*client)->ResumeStream(spec, checkpoint.stream);
  if (!stream.ok()) return stream.status();
  const auto position = (*stream)->position();
  if (!position.ok()) return position.status();
  Output output(packs_path, state_path, checkpoint.packs_bytes);

  // A loader would read its tokens again from position->read_from on, for the
  // packs to come; lengths are given from position->given on.
  std::ifstream lengths(lengths_path);
  std::string line;
  for (uint64_t ordinal = 0; std::getline(lengths, line); ++ordinal) {
    if (ordinal < position->given) continue;
    uint32_t length = 0;
    if (!absl::SimpleAtoi(line, &length)) {
      return absl::InvalidArgumentError("not a length: " + line);
    }
    absl::Status status = (*stream)->Add({length});
    if (status.ok()) status = output.Take(**stream);
    if (!status.ok()) return status;
  }
  absl::Status status = (*stream)->End();
  if (status.ok()) status = output.Take(**stream);
  return status.ok() ? output.Save(**stream) : status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::cerr << "usage: resume LENGTHS PACKS STATE [TARGET]\n";
    return 2;
  }
  const absl::Status status =
      PackFile(argv[1], argv[2], argv[3], argc == 5 ? argv[4] : "");
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
