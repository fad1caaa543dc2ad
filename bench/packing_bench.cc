// How fast the packers are, by rule, list, capacity and window: sequences per
// second on one thread, whole lists again and again as a stream.
//
// Lists: the published Wikipedia and SQuAD histograms, drawn from with a fixed
// seed, GSM8K in file order, log-normal mixes with a heavy tail for long
// contexts, and whatever files are named. docs/benchmarks.md has the figures.

#include <benchmark/benchmark.h>
#include <zlib.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "packhouse/packer.h"

namespace packhouse {
namespace {

constexpr size_t kSequences = 1 << 18;

// The numbers of each line of a file, one or two of them.
std::vector<std::pair<uint32_t, uint64_t>> ReadLines(const std::string& name) {
  const std::string path = name.find('/') == std::string::npos
                               ? std::string(PACKHOUSE_DATA_DIR) + "/" + name
                               : name;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  std::vector<std::pair<uint32_t, uint64_t>> lines;
  char line[64];
  while (gzgets(file, line, sizeof line) != nullptr) {
    uint32_t length = 0;
    uint64_t count = 1;
    if (std::sscanf(line, "%" SCNu32 ",%" SCNu64, &length, &count) >= 1) {
      lines.emplace_back(length, count);
    }
  }
  gzclose(file);
  return lines;
}

std::vector<uint32_t> Draw(const std::string& histogram) {
  std::vector<uint32_t> lengths;
  std::vector<double> weights;
  for (const auto& [length, count] : ReadLines(histogram)) {
    lengths.push_back(length);
    weights.push_back(static_cast<double>(count));
  }
  std::mt19937_64 rng(1);
  std::discrete_distribution<size_t> index(weights.begin(), weights.end());
  std::vector<uint32_t> drawn(kSequences);
  for (uint32_t& length : drawn) length = lengths[index(rng)];
  return drawn;
}

// A list from its beginning again and again, without over-long sequences.
std::vector<uint32_t> Repeat(const std::string& list, int64_t capacity) {
  std::vector<uint32_t> lengths;
  for (const auto& [length, count] : ReadLines(list)) {
    if (length <= capacity) lengths.push_back(length);
  }
  std::vector<uint32_t> repeated(kSequences);
  for (size_t i = 0; i < kSequences; ++i) {
    repeated[i] = lengths[i % lengths.size()];
  }
  return repeated;
}

// Median and spread of the log, cut to the capacity.
std::vector<uint32_t> LogNormal(double median, double sigma, double capacity) {
  std::mt19937_64 rng(1);
  std::lognormal_distribution<double> length(std::log(median), sigma);
  std::vector<uint32_t> drawn(kSequences);
  for (uint32_t& d : drawn) {
    d = static_cast<uint32_t>(std::clamp(length(rng), 1.0, capacity));
  }
  return drawn;
}

void Pack(benchmark::State& state, const std::vector<uint32_t>& lengths,
          const char* algorithm, int64_t capacity) {
  PackSpec spec;
  spec.algorithm = algorithm;
  spec.capacity_tokens = capacity;
  spec.window_sequences = state.range(0);
  Packer packer = *Packer::Create(spec);
  Packs packs;
  uint64_t packed = 0;
  uint64_t pack_count = 0;
  for (auto _ : state) {
    // A server's batch at a time, so that the packs stay as small as they are
    // there.
    for (size_t i = 0; i < lengths.size(); i += 4096) {
      packs.Clear();
      (void)packer.Add(absl::MakeConstSpan(lengths).subspan(i, 4096), &packs);
      benchmark::DoNotOptimize(packs.ordinals.data());
      pack_count += packs.size();
      packed += packs.ordinals.size();
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(packed));
  state.counters["per_pack"] =
      static_cast<double>(packed) / static_cast<double>(pack_count);
}

void Register(const std::string& name, const std::vector<uint32_t>& lengths,
              int64_t capacity) {
  for (const char* algorithm : {"spfhp", "lpfhp"}) {
    benchmark::RegisterBenchmark(
        (name + "/" + std::to_string(capacity) + "/" + algorithm).c_str(),
        [lengths, algorithm, capacity](benchmark::State& state) {
          Pack(state, lengths, algorithm, capacity);
        })
        ->ArgName("window")
        ->Arg(1024)
        ->Arg(4096)
        ->Arg(65536);
  }
}

std::string NameOf(const std::string& path) {
  const size_t begin = path.rfind('/') + 1;
  return path.substr(begin, path.find('.', begin) - begin);
}

}  // namespace
}  // namespace packhouse

int main(int argc, char** argv) {
  using namespace packhouse;
  benchmark::Initialize(&argc, argv);
  if (argc % 2 == 0) {
    std::fprintf(stderr,
                 "usage: packing_bench [--benchmark_...] [FILE CAPACITY]...\n"
                 "FILE: one length a line, .gz too\n");
    return 2;
  }
  Register("squad11_bert384", Draw("squad11_bert384.hist.csv.gz"), 384);
  Register("wikipedia_bert512", Draw("wikipedia_bert512.hist.csv.gz"), 512);
  for (int64_t capacity : {2048, 8192}) {
    Register("gsm8k_train_cl100k",
             Repeat("gsm8k_train_cl100k.txt.gz", capacity), capacity);
  }
  Register("lognormal", LogNormal(600, 1.2, 8192), 8192);
  Register("lognormal", LogNormal(3000, 1.5, 131072), 131072);
  for (int i = 1; i + 1 < argc; i += 2) {
    const int64_t capacity = std::atoll(argv[i + 1]);
    Register(NameOf(argv[i]), Repeat(argv[i], capacity), capacity);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
