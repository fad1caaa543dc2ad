#include "server/settings.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "net/small_file.h"

namespace packhouse {
namespace {

constexpr char kPrefix[] = "PACKHOUSE_";
constexpr char kConfig[] = "config";

// Numbers in decimal digits: CLI11's own conversion would take 010 for 8.
bool ParseNumber(const std::string& text, double* value) {
  return absl::SimpleAtod(text, value);
}
template <typename Integer>
bool ParseNumber(const std::string& text, Integer* value) {
  const bool is_octal = text.size() > 1 && text[0] == '0';
  return !is_octal && absl::SimpleAtoi(text, value);
}

// A limit as the text of an option says it.
template <typename T>
std::string Shown(T limit) {
  return absl::StrCat(static_cast<int64_t>(limit));
}

// A range that the text of an option states itself. Unlike CLI::Range it does
// not take NaN for a number in it.
template <typename T>
CLI::Validator Between(T min, T max) {
  auto check = [min, max](const std::string& text) {
    T value;
    const bool inside =
        ParseNumber(text, &value) && min <= value && value <= max;
    return inside ? std::string()
                  : absl::StrCat(text, " is not in the range ", Shown(min),
                                 " to ", Shown(max));
  };
  return CLI::Validator(check, "");
}

// A mode in octal digits, as chmod takes it.
uint32_t ParseMode(const std::string& text) {
  constexpr size_t kMaxDigits = 4;
  uint32_t mode = 0;
  bool valid = !text.empty() && text.size() <= kMaxDigits;
  for (const char digit : text) {
    valid &= '0' <= digit && digit <= '7';
    mode = mode * 8 + static_cast<uint32_t>(digit - '0');
  }
  if (!valid || mode > 0777) {
    throw CLI::ValidationError(
        "--socket-mode",
        absl::StrCat(text, " is not an octal number from 0 to 0777"));
  }
  return mode;
}

// A number of bytes, with K, M or G behind it for units of 1024.
uint64_t ParseBytes(const std::string& text) {
  // With less, even the smallest stream could never be opened.
  constexpr uint64_t kMin = uint64_t{2} << 20;
  constexpr uint64_t kMax = uint64_t{1} << 40;
  absl::string_view number = text;
  int shift = 0;
  for (const auto& [unit, bits] : {std::pair("K", 10), {"M", 20}, {"G", 30}}) {
    if (absl::ConsumeSuffix(&number, unit)) {
      shift = bits;
      break;
    }
  }
  uint64_t value = 0;
  if (!ParseNumber(std::string(number), &value) || value > kMax >> shift ||
      value << shift < kMin) {
    throw CLI::ValidationError(
        "--max-memory",
        absl::StrCat(text, " is not a number of bytes from 2M to 1024G"));
  }
  return value << shift;
}

void DeclareAddresses(CLI::App* app, ServerOptions* server) {
  app->add_option("--listen", server->listen,
                  "Serve gRPC here: unix:PATH or HOST:PORT, IPv6 as\n"
                  "[::1]:PORT. Port 0 lets the kernel choose. May be\n"
                  "given several times; needed once")
      ->type_name("ADDR")
      ->allow_extra_args(false);
  app->add_option("--http", server->http,
                  "Serve /metrics and /healthz here, over plain HTTP and\n"
                  "to whoever can connect. Nowhere by default")
      ->type_name("HOST:PORT");
  app->add_option_function<std::string>(
         "--socket-mode",
         [server](const std::string& text) {
           server->socket_mode = ParseMode(text);
         },
         "Mode of Unix sockets, in octal: who may write to one\n"
         "may connect")
      ->type_name("MODE")
      ->default_str("0660");
  app->add_option("--socket-group", server->socket_group,
                  "Group of Unix sockets, and of their folder where it is\n"
                  "missing: it is then created, with mode 0770")
      ->type_name("NAME|GID");
}

void DeclareTls(CLI::App* app, ServerOptions* server) {
  TlsServerOptions* tls = &server->tls;
  app->add_flag("--insecure", server->insecure,
                "Allow plaintext gRPC on addresses that other machines\n"
                "can reach");
  app->add_option("--tls-cert", tls->cert_file,
                  "Speak TLS on all TCP addresses, with the certificate\n"
                  "in this PEM file, its issuers behind it")
      ->type_name("FILE");
  app->add_option("--tls-key", tls->key_file, "Its private key, in PEM form")
      ->type_name("FILE");
  app->add_option("--tls-client-ca", tls->client_ca_file,
                  "Serve only clients with a certificate of one of the\n"
                  "authorities in this PEM file")
      ->type_name("FILE");
  app->add_option("--tls-allow-client", tls->allow_clients,
                  "Of these, serve only clients whose certificate has\n"
                  "this DNS or URI name, or without any alternative name\n"
                  "this common name. May be given several times")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app->add_option("--tls-refresh", tls->refresh_seconds,
                  "How often the files are looked at, 1 to 86400")
      ->type_name("SECONDS")
      ->check(Between(uint32_t{1}, uint32_t{86400}))
      ->capture_default_str();
}

void DeclareLimits(CLI::App* app, ServerOptions* server) {
  app->add_option(
         "--max-window", server->limits.max_window_sequences,
         absl::StrCat("Largest window that a stream may ask for, 1 to\n",
                      kMaxStreamWindowSequences,
                      "; each sequence in it costs about 100 bytes"))
      ->type_name("N")
      ->check(Between(int64_t{1}, kMaxStreamWindowSequences))
      ->capture_default_str();
  app->add_option("--max-plan", server->max_plan_sequences,
                  "Longest list that one Plan call may have, 1 to\n"
                  "1048576")
      ->type_name("N")
      ->check(Between(uint32_t{1}, kMaxPlanSequences))
      ->capture_default_str();
  app->add_option("--max-streams", server->max_streams,
                  "Streams that may be open, 1 to 1000000")
      ->type_name("N")
      ->check(Between(size_t{1}, size_t{1000000}))
      ->capture_default_str();
  app->add_option_function<std::string>(
         "--max-memory",
         [server](const std::string& text) {
           server->max_memory_bytes = ParseBytes(text);
         },
         "The most memory that streams and plans may come to\n"
         "take together, in bytes or with K, M or G, 2M to 1024G")
      ->type_name("BYTES")
      ->default_str("2G");
}

void DeclareProcess(CLI::App* app, Settings* settings) {
  app->add_option("--grace", settings->grace_seconds,
                  "How long open streams may go on once the server is\n"
                  "told to stop, 0 to 86400; then they get UNAVAILABLE")
      ->type_name("SECONDS")
      ->check(Between(0.0, 86400.0))
      ->capture_default_str();
  app->add_option("--idle-timeout", settings->idle_seconds,
                  "End a stream, resumable, when nothing came on it for so\n"
                  "long, 0 to 31536000; 0: never")
      ->type_name("SECONDS")
      ->check(Between(0.0, 31536000.0))
      ->capture_default_str();
  app->add_option("--packing-threads", settings->server.packing_threads,
                  "Threads for heavy packing, 1 to 1024; 0: one for each\n"
                  "core, at least 2")
      ->type_name("N")
      ->check(Between(0, 1024))
      ->capture_default_str();
  app->add_option_function<std::string>(
         "--log-format",
         [settings](const std::string& text) {
           settings->log_format =
               text == "json" ? Log::Format::kJson : Log::Format::kText;
         },
         "Form of the log on standard error: text or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->default_str("text");
  app->add_option("--config", "Take what is not given otherwise from this file")
      ->type_name("FILE")
      ->configurable(false);
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
  DeclareAddresses(app, &settings->server);
  DeclareTls(app, &settings->server);
  DeclareLimits(app, &settings->server);
  DeclareProcess(app, settings);
  app->footer(
      "Each option is also a variable and a key of the --config file: "
      "--max-window N is\nPACKHOUSE_MAX_WINDOW=N there and max-window = N "
      "here. The command line wins over\nthe environment, that over the file. "
      "--insecure=false takes a flag back.\n\n"
      "Once it serves, it prints `listening ADDR` for each --listen, in order "
      "and with\nthe real port, and `listening http://HOST:PORT` for --http at "
      "last.\n\n"
      "SIGTERM and SIGINT stop it: health checks say NOT_SERVING and open "
      "streams have\nthe grace to end. A second signal ends it at once.\n\n"
      "Exit codes: 0 stopped by a signal; 1 by a second one; 2 wrong usage, a "
      "file that\ncannot be used, or an address that it cannot listen on.\n\n"
      "Example:\n  packhoused --listen unix:/run/packhouse/packhouse.sock "
      "--http 127.0.0.1:9464");
}

// All options that have a value, without --help and --version.
std::vector<CLI::Option*> ValueOptions(CLI::App* app) {
  return app->get_options([](const CLI::Option* option) {
    return option->get_configurable() || option->get_single_name() == kConfig;
  });
}

bool IsFlag(const CLI::Option& option) {
  return option.get_expected_max() == 0;
}

bool IsList(const CLI::Option& option) { return option.get_expected_max() > 1; }

std::string VariableName(const CLI::Option& option) {
  return absl::StrCat(kPrefix, absl::AsciiStrToUpper(absl::StrReplaceAll(
                                   option.get_single_name(), {{"-", "_"}})));
}

// An empty value is more often a variable of a script that has none than meant:
// TLS must not be left out for it.
void RefuseEmptyValues(CLI::App* app) {
  const auto refuse = [](const std::string& text) {
    return text.empty() ? std::string("the value is empty") : std::string();
  };
  for (CLI::Option* option : ValueOptions(app)) {
    // Before the checks of the value itself.
    option->transform(CLI::Validator(refuse, ""));
  }
}

// Gives an option the values that `source` has for it. Throws CLI::ParseError.
void Give(const std::vector<std::string>& values, absl::string_view source,
          CLI::Option* option) {
  try {
    for (const std::string& value : values) option->add_result(value);
    option->run_callback();
  } catch (const CLI::ParseError& error) {
    throw CLI::ValidationError(absl::StrCat(source, ": ", error.what()));
  }
}

// The values in the environment of options that have none yet.
void TakeEnvironment(const std::map<std::string, std::string>& environment,
                     CLI::App* app, std::map<std::string, Origin>* origins) {
  for (CLI::Option* option : ValueOptions(app)) {
    const std::string variable = VariableName(*option);
    const auto found = environment.find(variable);
    if (option->count() > 0 || found == environment.end()) continue;
    std::vector<std::string> values = {found->second};
    if (IsList(*option)) {
      values.clear();
      for (absl::string_view value :
           absl::StrSplit(found->second, absl::ByAnyChar(",\n"))) {
        value = absl::StripAsciiWhitespace(value);
        if (!value.empty()) values.emplace_back(value);
      }
    }
    Give(values, variable, option);
    (*origins)[option->get_single_name()] = Origin::kEnvironment;
  }
}

// OK if each list of the file ends in its line: CLI11 takes the rest of one
// that does not for sections.
absl::Status CheckLists(const std::string& path, const std::string& bytes) {
  size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(bytes, '\n')) {
    ++number;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    const absl::string_view value = absl::StripAsciiWhitespace(parts.second);
    if (absl::StartsWith(value, "[") && !absl::StrContains(value, "]")) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": line ", number, ": a list stands in one line"));
    }
  }
  return absl::OkStatus();
}

// What the file of --config says, by key.
absl::StatusOr<std::map<std::string, std::vector<std::string>>> ReadFile(
    const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadSmallFile(path);
  if (!bytes.ok()) return bytes.status();
  if (absl::Status status = CheckLists(path, *bytes); !status.ok()) {
    return status;
  }
  std::istringstream text(*bytes);
  std::map<std::string, std::vector<std::string>> values;
  for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(text)) {
    if (!item.parents.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": there are no sections, and [",
                       absl::StrJoin(item.parents, "."), "] is one"));
    }
    std::vector<std::string>& inputs = values[item.name];
    inputs.insert(inputs.end(), item.inputs.begin(), item.inputs.end());
  }
  return values;
}

// The values in the file of options that have none yet.
absl::Status TakeFile(const std::string& path, CLI::App* app,
                      std::map<std::string, Origin>* origins) {
  auto values = ReadFile(path);
  if (!values.ok()) return values.status();
  for (const auto& [key, inputs] : *values) {
    CLI::Option* option = app->get_option_no_throw(absl::StrCat("--", key));
    if (option == nullptr || !option->get_configurable()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": there is no key ", key));
    }
    if (option->count() > 0) continue;
    Give(inputs, path, option);
    (*origins)[key] = Origin::kFile;
  }
  return absl::OkStatus();
}

std::string ValueOf(const CLI::Option& option) {
  if (option.count() == 0) {
    return IsFlag(option) ? "false" : option.get_default_str();
  }
  if (IsFlag(option)) return option.as<bool>() ? "true" : "false";
  return absl::StrJoin(option.results(), ",");
}

absl::Status Read(std::vector<std::string> args,
                  const std::map<std::string, std::string>& environment,
                  CLI::App* app, Settings* settings) {
  std::reverse(args.begin(), args.end());  // as CLI11 takes them
  app->parse(std::move(args));
  std::map<std::string, Origin> origins;
  for (const CLI::Option* option : ValueOptions(app)) {
    origins[option->get_single_name()] =
        option->count() > 0 ? Origin::kCommandLine : Origin::kDefault;
  }
  TakeEnvironment(environment, app, &origins);
  const CLI::Option* config = app->get_option(absl::StrCat("--", kConfig));
  if (config->count() > 0) {
    absl::Status status = TakeFile(config->as<std::string>(), app, &origins);
    if (!status.ok()) return status;
  }
  for (const CLI::Option* option : ValueOptions(app)) {
    const std::string& name = option->get_single_name();
    settings->all.push_back({name, ValueOf(*option), origins[name]});
  }
  return absl::OkStatus();
}

// In words of our own where CLI11's are of a program.
std::string UsageText(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) {
    return error.what();
  }
  const std::string word = app.remaining().front();
  return absl::StartsWith(word, "-")
             ? absl::StrCat("unknown option ", word.substr(0, word.find('=')))
             : absl::StrCat("unexpected argument ", word);
}

// The variables that are ours by their name and have a value.
std::map<std::string, std::string> OurVariables(
    const std::vector<std::string>& environment) {
  std::map<std::string, std::string> variables;
  for (const std::string& entry : environment) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    if (absl::StartsWith(parts.first, kPrefix) && !parts.second.empty()) {
      variables.insert(parts);
    }
  }
  return variables;
}

}  // namespace

absl::string_view OriginName(Origin origin) {
  switch (origin) {
    case Origin::kCommandLine:
      return "command line";
    case Origin::kEnvironment:
      return "environment";
    case Origin::kFile:
      return "file";
    case Origin::kDefault:
      return "default";
  }
  return "";
}

absl::StatusOr<Settings> ReadSettings(
    std::vector<std::string> args,
    const std::vector<std::string>& environment) {
  Settings settings;
  CLI::App app;
  Declare(&app, &settings);
  RefuseEmptyValues(&app);
  std::map<std::string, std::string> variables = OurVariables(environment);
  try {
    absl::Status status = Read(std::move(args), variables, &app, &settings);
    if (!status.ok()) return status;
  } catch (const CLI::Success& success) {
    std::ostringstream answer;
    app.exit(success, answer, answer);
    settings.answer = answer.str();
    return settings;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(UsageText(app, error), " (packhoused --help says more)"));
  }
  for (const CLI::Option* option : ValueOptions(&app)) {
    variables.erase(VariableName(*option));
  }
  for (const auto& [name, value] : variables) {
    settings.unknown_variables.push_back(name);
  }
  return settings;
}

}  // namespace packhouse
