// The program packhoused: options in, a Server until a signal says stop.

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "grpc/support/log.h"
#include "server/log.h"
#include "server/server.h"

#ifdef __GLIBC__  // known once a header of the C library is in
#include <malloc.h>
#endif

namespace packhouse {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitCut = 1;    // a second signal: work was cut short
constexpr int kExitUsage = 2;  // wrong usage, or an address cannot be had

struct Settings {
  ServerOptions server;
  std::string log_format = "text";
  double grace_seconds = 5;
};

int Fail(absl::string_view reason) {
  // One short line, whatever the reason has in it.
  constexpr size_t kMaxBytes = 1900;
  std::string line =
      absl::StrReplaceAll(reason.substr(0, kMaxBytes), {{"\n", "; "}});
  if (reason.size() > kMaxBytes) line += "...";
  std::cerr << "packhoused: " << line << "\n";
  return kExitUsage;
}

// A range that the text of an option states itself. Unlike CLI::Range it does
// not take NaN for a number in it.
template <typename T>
CLI::Validator Between(T min, T max) {
  auto check = [min, max](const std::string& text) {
    T value;
    const bool inside =
        CLI::detail::lexical_cast(text, value) && min <= value && value <= max;
    return inside
               ? std::string()
               : absl::StrCat(text, " is not in the range ", min, " to ", max);
  };
  return CLI::Validator(check, "");
}

void Declare(CLI::App* app, Settings* settings) {
  app->name("packhoused");
  app->description(
      "Packs sequences of different lengths, online, over gRPC. Lengths go "
      "in,\n"
      "packs come out; tokens never travel.");
  app->set_version_flag("--version",
                        absl::StrCat("packhoused ", ServerVersion()),
                        "Print the version and exit");
  app->get_formatter()->column_width(24);
  ServerOptions& server = settings->server;
  app->add_option("--listen", server.listen,
                  "Serve gRPC here: unix:PATH or HOST:PORT, IPv6 as\n"
                  "[::1]:PORT. Port 0 lets the kernel choose. May be\n"
                  "given several times")
      ->type_name("ADDR")
      ->required()
      ->allow_extra_args(false);
  app->add_option("--http", server.http,
                  "Serve /metrics and /healthz here, over plain HTTP and\n"
                  "to whoever can connect. Nowhere by default")
      ->type_name("HOST:PORT");
  app->add_flag("--insecure", server.insecure,
                "Allow plaintext gRPC on addresses that other machines\n"
                "can reach");
  app->add_option("--grace", settings->grace_seconds,
                  "How long open streams may go on once the server is\n"
                  "told to stop, 0 to 86400; then they get UNAVAILABLE")
      ->type_name("SECONDS")
      ->check(Between(0.0, 86400.0))
      ->capture_default_str();
  app->add_option(
         "--max-window", server.limits.max_window_sequences,
         absl::StrCat("Largest window that a stream may ask for, 1 to\n",
                      kMaxStreamWindowSequences,
                      "; each sequence in it costs about 100 bytes"))
      ->type_name("N")
      ->check(Between(int64_t{1}, kMaxStreamWindowSequences))
      ->capture_default_str();
  app->add_option("--max-plan", server.max_plan_sequences,
                  "Longest list that one Plan call may have, 1 to\n"
                  "1048576")
      ->type_name("N")
      ->check(Between(uint32_t{1}, kMaxPlanSequences))
      ->capture_default_str();
  app->add_option("--log-format", settings->log_format,
                  "Form of the log on standard error: text or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->capture_default_str();
  app->footer(
      "Once it serves, it prints `listening ADDR` for each --listen, in order "
      "and with\nthe real port, and `listening http://HOST:PORT` for --http at "
      "last.\n\n"
      "SIGTERM and SIGINT stop it: health checks say NOT_SERVING and open "
      "streams have\nthe grace to end. A second signal ends it at once.\n\n"
      "Exit codes: 0 stopped by a signal; 1 by a second one; 2 wrong usage, or "
      "an\naddress that it cannot listen on.\n\n"
      "Example:\n  packhoused --listen unix:/run/packhouse/packhouse.sock "
      "--http 127.0.0.1:9464");
}

// gRPC's own errors go to the log once there is one; before, what matters of
// them is in the error of Server::Start.
std::atomic<Log*> grpc_log{nullptr};

void LogFromGrpc(gpr_log_func_args* args) {
  if (Log* log = grpc_log) log->Warning("gRPC", {{"error", args->message}});
}

void LogStart(const Settings& settings, const Server& server, Log* log) {
  const ServerOptions& options = settings.server;
  log->Info("serving",
            {{"version", std::string(ServerVersion())},
             {"pid", getpid()},
             {"listen", server.addresses()},
             {"http", server.http_address()},
             {"insecure", options.insecure},
             {"grace_seconds", settings.grace_seconds},
             {"max_window_sequences", options.limits.max_window_sequences},
             {"max_plan_sequences", options.max_plan_sequences},
             {"max_batch_sequences", options.limits.max_batch_sequences},
             {"credit_inputs", options.limits.credit_inputs},
             {"credit_sequences", options.limits.credit_sequences}});
}

void LogStop(const Server& server, int signal, Log* log) {
  const ServerTotals totals = server.totals();
  log->Info("stopped", {{"reason", signal == SIGINT ? "SIGINT" : "SIGTERM"},
                        {"streams", totals.streams},
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

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// From here on SIGTERM and SIGINT end the process at once.
void HonourSecondSignal() {
  struct sigaction action = {};
  action.sa_handler = [](int) { _exit(kExitCut); };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
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
  Log log(
      settings.log_format == "json" ? Log::Format::kJson : Log::Format::kText,
      STDERR_FILENO);
  settings.server.log = &log;
  gpr_set_log_function(&LogFromGrpc);
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(settings.server);
  if (!server.ok()) return Fail(server.status().message());
  grpc_log = &log;
  LogStart(settings, **server, &log);
  PrintAddresses(**server);

  int signal = 0;
  sigwait(&signals, &signal);
  HonourSecondSignal();
  (*server)->Stop(absl::Seconds(settings.grace_seconds));
  LogStop(**server, signal, &log);
  grpc_log = nullptr;
  return kExitOk;
}

int Main(int argc, char** argv) {
  ConfigureAllocator();
  // Before any thread starts, so that all inherit it and only sigwait takes
  // these signals.
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  // A socket is there before its mode can be set; until then nobody but owner
  // and group may connect.
  umask(umask(0) | 0007);

  Settings settings;
  CLI::App app;
  Declare(&app, &settings);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success, std::cout, std::cerr);
  } catch (const CLI::ParseError& error) {
    return Fail(absl::StrCat(error.what(), " (packhoused --help says more)"));
  }
  return Serve(std::move(settings), signals);
}

}  // namespace
}  // namespace packhouse

// An exception that is no error of the user is a bug, and may end the program.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) { return packhouse::Main(argc, argv); }
