// Memory that streams take in a server when their clients do their worst: they
// send what they may and never read. Held against StreamMemoryBound.
//
//   stream_memory PACKHOUSED [STREAMS]
//
// For each of some specs a server of its own is started, STREAMS streams are
// opened and written to until nothing moves any more, and the growth of the
// server's resident memory is taken. Prints a line for each spec; exits 1 where
// streams took more than their bound. With few streams it shows what requests
// take while they are served, too, which the bound leaves out.

#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "session/codec/codec.h"
#include "session/limits.h"

extern char** environ;

namespace packhouse {
namespace {

// Nothing has moved for so long: nothing will.
constexpr absl::Duration kStill = absl::Seconds(1);

struct Case {
  const char* name;
  PackSpec spec;
  uint32_t length;
  uint32_t batch_sequences;
};

PackSpec Spec(const char* algorithm, int64_t capacity, int64_t window) {
  PackSpec spec;
  spec.capacity_tokens = capacity;
  spec.algorithm = algorithm;
  spec.window_sequences = window;
  return spec;
}

std::vector<Case> Cases() {
  PackSpec split = Spec("spfhp", 8, 1024);
  split.overlong = Overlong::kSplit;
  PackSpec drop = Spec("spfhp", 8, 1024);
  drop.overlong = Overlong::kDrop;
  PackSpec sliding = Spec("sliding", 4096, 1024);
  sliding.effort = Effort::kFast;
  PackSpec sliding_wide = sliding;
  sliding_wide.window_sequences = 16384;
  return {
      {"spfhp 1024, batches of 1024", Spec("spfhp", 8, 1024), 8, 1024},
      {"spfhp 1024, batches of 65536", Spec("spfhp", 8, 1024), 8, 65536},
      {"spfhp 1024, lengths of any size", Spec("spfhp", 4096, 1024), 0, 65536},
      {"spfhp 65536", Spec("spfhp", 4096, 65536), 0, 65536},
      {"spfhp 524288", Spec("spfhp", 4096, 524288), 0, 65536},
      {"depth_aware 65536", Spec("depth_aware", 4096, 65536), 0, 65536},
      {"split 1024, 8 pieces each", split, 64, 16384},
      {"drop 1024, half of them", drop, 1, 65536},
      {"sliding fast 1024", sliding, 0, 16384},
      {"sliding fast 16384", sliding_wide, 0, 16384},
  };
}

// A packhoused on a Unix socket, killed at the end.
class ServerProcess {
 public:
  explicit ServerProcess(const std::string& program) {
    address_ = absl::StrCat("unix:/tmp/stream_memory-", getpid(), ".sock");
    const std::vector<std::string> words = {
        program, "--listen", address_, "--max-memory", "1024G", "--grace", "0"};
    std::vector<char*> arguments;
    for (const std::string& word : words) {
      arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    if (posix_spawn(&pid_, program.c_str(), nullptr, nullptr, arguments.data(),
                    environ) != 0) {
      std::cerr << "cannot start " << program << "\n";
      std::exit(2);
    }
  }
  ~ServerProcess() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }

  const std::string& address() const { return address_; }

  // Of its memory that is its own: not of files that are mapped.
  uint64_t ResidentBytes() const {
    std::ifstream file(absl::StrCat("/proc/", pid_, "/status"));
    std::string word;
    while (file >> word) {
      uint64_t kib;
      if (word == "RssAnon:" && file >> kib) return kib << 10;
    }
    return 0;
  }

 private:
  std::string address_;
  pid_t pid_ = 0;
};

// One stream that is written to and not read.
struct Stuck {
  grpc::ClientContext context;
  std::unique_ptr<
      grpc::ClientAsyncReaderWriter<v1::PackRequest, v1::PackResponse>>
      call;
  v1::PackRequest request;
  uint64_t number = 0;
};

uint64_t Measure(const std::string& program, const Case& which, int streams) {
  ServerProcess server(program);
  grpc::ChannelArguments channel_arguments;
  channel_arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  channel_arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // to read less
  const auto channel = grpc::CreateCustomChannel(
      server.address(), grpc::InsecureChannelCredentials(), channel_arguments);
  if (!channel->WaitForConnected(std::chrono::system_clock::now() +
                                 std::chrono::seconds(10))) {
    std::cerr << "the server does not answer\n";
    std::exit(2);
  }
  const auto stub = v1::PackerService::NewStub(channel);
  const uint64_t before = server.ResidentBytes();

  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<Stuck>> stuck;
  for (int i = 0; i < streams; ++i) {
    stuck.push_back(std::make_unique<Stuck>());
    Stuck* each = stuck.back().get();
    each->call = stub->PrepareAsyncPack(&each->context, &queue);
    each->call->StartCall(each);
  }
  v1::PackRequest batch;
  uint32_t random = 1;
  for (uint32_t i = 0; i < which.batch_sequences; ++i) {
    random = random * 1664525 + 1013904223;
    batch.mutable_batch()->add_lengths(
        which.length != 0
            ? which.length
            : 1 + (random >> 8) %
                      static_cast<uint32_t>(which.spec.capacity_tokens));
  }
  uint64_t peak = before;
  void* tag;
  bool ok;
  while (queue.AsyncNext(&tag, &ok, absl::ToChronoTime(absl::Now() + kStill)) ==
         grpc::CompletionQueue::GOT_EVENT) {
    if (!ok) continue;
    Stuck* each = static_cast<Stuck*>(tag);
    if (each->number == 0) {
      Open open;
      open.spec = which.spec;
      Encode(open, &each->request);
    } else {
      each->request = batch;
      each->request.mutable_batch()->set_number(each->number);
    }
    ++each->number;
    each->call->Write(each->request, tag);
    peak = std::max(peak, server.ResidentBytes());
  }
  peak = std::max(peak, server.ResidentBytes());
  for (const auto& each : stuck) each->context.TryCancel();
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  return peak - before;
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "stream_memory PACKHOUSED [STREAMS]\n";
    return 2;
  }
  const int streams = argc > 2 ? std::atoi(argv[2]) : 32;
  bool within = true;
  std::printf("%-34s %10s %10s\n", "KiB a stream", "bound", "taken");
  for (const Case& each : Cases()) {
    const uint64_t bound = StreamMemoryBound(each.spec, SessionLimits());
    const uint64_t taken =
        Measure(argv[1], each, streams) / static_cast<uint64_t>(streams);
    within = within && taken <= bound;
    std::printf(
        "%-34s %10ju %10ju%s\n", each.name, static_cast<uintmax_t>(bound >> 10),
        static_cast<uintmax_t>(taken >> 10), taken > bound ? "  MORE" : "");
    std::fflush(stdout);
  }
  return within ? 0 : 1;
}

}  // namespace
}  // namespace packhouse

int main(int argc, char** argv) { return packhouse::Main(argc, argv); }
