// The program packhoused: options in, a Server until a signal says stop.

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "grpc/support/log.h"
#include "server/log.h"
#include "server/server.h"
#include "server/settings.h"
#include "session/limits.h"

#ifdef __GLIBC__  // known once a header of the C library is in
#include <malloc.h>
#endif

namespace packhouse {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitCut = 1;    // a second signal: work was cut short
constexpr int kExitUsage = 2;  // wrong usage, or an address cannot be had

int Fail(absl::string_view reason) {
  // One short line, whatever the reason has in it.
  constexpr size_t kMaxBytes = 1900;
  std::string line =
      absl::StrReplaceAll(reason.substr(0, kMaxBytes), {{"\n", "; "}});
  if (reason.size() > kMaxBytes) line += "...";
  std::cerr << "packhoused: " << line << "\n";
  return kExitUsage;
}

// gRPC's own errors go to the log once there is one; before, what matters of
// them is in the error of Server::Start.
std::atomic<Log*> grpc_log{nullptr};

void LogFromGrpc(gpr_log_func_args* args) {
  Log* log = grpc_log;
  if (log == nullptr) return;
  // One kind for each place in gRPC that says something.
  log->RepeatedWarning(absl::StrCat(args->file, ":", args->line), "gRPC",
                       {{"error", args->message}});
}

// What a stream with the default window counts for.
uint64_t DefaultStreamBytes(const ServerOptions& options) {
  PackSpec spec;
  spec.capacity_tokens = 1;
  return StreamMemoryBound(spec, options.limits);
}

void LogStart(const Settings& settings, const Server& server, Log* log) {
  const SessionLimits& limits = settings.server.limits;
  log->Info("serving",
            {{"version", std::string(ServerVersion())},
             {"pid", getpid()},
             {"listen", server.addresses()},
             {"http", server.http_address()},
             {"tls", settings.server.tls.is_set()},
             {"packing_threads", server.packing_threads()},
             {"default_stream_bytes", DefaultStreamBytes(settings.server)},
             {"max_batch_sequences", limits.max_batch_sequences},
             {"credit_inputs", limits.credit_inputs},
             {"credit_sequences", limits.credit_sequences}});
  // One line for those of an origin.
  for (const Origin origin : {Origin::kCommandLine, Origin::kEnvironment,
                              Origin::kFile, Origin::kDefault}) {
    Log::Fields fields = {{"origin", std::string(OriginName(origin))}};
    for (const Setting& setting : settings.all) {
      if (setting.origin == origin) fields[setting.name] = setting.value;
    }
    if (fields.size() > 1) log->Info("settings", fields);
  }
  if (!settings.unknown_variables.empty()) {
    log->Warning("unknown variables",
                 {{"names", absl::StrJoin(settings.unknown_variables, ",")}});
  }
}

const char* SignalName(int signal) {
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

void LogStop(const Server& server, int signal, Log* log) {
  const ServerTotals totals = server.totals();
  log->Info("stopped", {{"reason", SignalName(signal)},
                        {"streams", totals.streams},
                        {"drained_streams", totals.drained_streams},
                        {"cut_streams", totals.cut_streams},
                        {"sequences", totals.sequences},
                        {"tokens", totals.tokens},
                        {"packs", totals.packs}});
}

// What glibc does with memory that streams give back.
void ConfigureAllocator() {
#ifdef __GLIBC__
  // Buffers of large windows have mappings of their own, which go back to the
  // system when they are freed. By default glibc raises this limit, up to 32
  // MiB, as such buffers come and go, and keeps them in its heaps: 24 streams
  // that had full windows of a million left up to 590 MB, now about 100 MB.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  // The end of a heap is kept for the next batch. By default glibc gives it
  // back when 128 KiB are free there, and a batch faults it in again: 2 page
  // faults with 4096 sequences, 40 with 16384, now none. More than this, in
  // each of the heaps, gains no more.
  mallopt(M_TRIM_THRESHOLD, 4 << 20);
#endif
}

// As many connections as the system lets the process have: the soft limit is
// meant for programs that use select.
void RaiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// From here on one of `signals` ends the process at once. `log` must live as
// long as the process.
void HonourSecondSignal(const sigset_t& signals, Log* log) {
  std::thread([signals, log] {
    int signal = 0;
    sigwait(&signals, &signal);
    log->Warning("stopped at once by a second signal",
                 {{"reason", SignalName(signal)}});
    _exit(kExitCut);
  }).detach();
}

// For programs that read which ports were chosen, and that it serves now.
void PrintAddresses(const Server& server) {
  for (const std::string& address : server.addresses()) {
    std::cout << "listening " << address << "\n";
  }
  if (!server.http_address().empty()) {
    std::cout << "listening http://" << server.http_address() << "\n";
  }
  std::cout << std::flush;
}

// Serves until one of `signals`, which all threads block, comes.
int Serve(Settings settings, const sigset_t& signals) {
  Log log(settings.log_format, STDERR_FILENO);
  settings.server.log = &log;
  settings.server.idle_timeout = settings.idle_seconds > 0
                                     ? absl::Seconds(settings.idle_seconds)
                                     : absl::InfiniteDuration();
  gpr_set_log_function(&LogFromGrpc);
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(settings.server);
  if (!server.ok()) return Fail(server.status().message());
  grpc_log = &log;
  LogStart(settings, **server, &log);
  PrintAddresses(**server);

  int signal = 0;
  sigwait(&signals, &signal);
  HonourSecondSignal(signals, &log);
  log.Info("stopping", {{"reason", SignalName(signal)},
                        {"streams", (*server)->totals().open_streams},
                        {"grace_seconds", settings.grace_seconds}});
  (*server)->Stop(absl::Seconds(settings.grace_seconds));
  LogStop(**server, signal, &log);
  // What is still being packed is for nobody: it is not waited for.
  std::cout.flush();
  _exit(kExitOk);
}

std::vector<std::string> Environment() {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    variables.emplace_back(*each);
  }
  return variables;
}

int Main(int argc, char** argv) {
  ConfigureAllocator();
  RaiseDescriptorLimit();
  // Before any thread starts, so that all inherit it and only sigwait takes
  // these signals.
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  absl::StatusOr<Settings> settings = ReadSettings(
      std::vector<std::string>(argv + 1, argv + argc), Environment());
  if (!settings.ok()) return Fail(settings.status().message());
  if (!settings->answer.empty()) {
    std::cout << settings->answer;
    return kExitOk;
  }
  // A socket is there before its mode can be set; until then no more than that
  // may connect, and never everybody.
  umask(umask(0) | 0007 | (0777 & ~settings->server.socket_mode));
  return Serve(*std::move(settings), signals);
}

}  // namespace
}  // namespace packhouse

// An exception that is no error of the user is a bug, and may end the program.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) { return packhouse::Main(argc, argv); }
