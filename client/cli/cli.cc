#include "client/cli/cli.h"

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/cli/commands.h"
#include "client/cli/error_text.h"
#include "client/cli/options.h"
#include "client/cli/output_file.h"

namespace packhouse {
namespace {

using Command = absl::Status (*)(const CommandOptions&, std::ostream&);

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitBadInput = 2;

constexpr size_t kFooterColumns = 76;

// CLI11's help with a usage line that says what a command cannot do without.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    column_width(24);
    label("REQUIRED", "");
    label("Positionals", "Arguments");
  }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return absl::StrReplaceAll(CLI::Formatter::make_help(app, name, mode),
                               {{"\n\n\n", "\n\n"}});
  }

  std::string make_usage(const CLI::App* app, std::string) const override {
    std::string usage = "\nUsage: packhouse";
    if (app->get_parent() == nullptr) return usage + " COMMAND ...\n";
    std::string words = app->get_name();
    for (const CLI::App* parent = app->get_parent();
         parent->get_parent() != nullptr; parent = parent->get_parent()) {
      words = absl::StrCat(parent->get_name(), " ", words);
    }
    absl::StrAppend(&usage, " ", words);
    if (!app->get_subcommands({}).empty()) return usage + " SUBJECT ...\n";
    for (const CLI::Option* option : app->get_options()) {
      if (!option->get_required()) continue;
      absl::StrAppend(&usage, " ", option->get_name());
      if (option->nonpositional()) {
        absl::StrAppend(&usage, " ", option->get_type_name());
      }
    }
    return usage + " [options]\n";
  }
};

// The commands of the program, and where their options go.
struct Program {
  CLI::App app{
      "Packs sequences of different lengths into packs of a fixed capacity.",
      "packhouse"};
  CommandOptions options;
  std::map<const CLI::App*, Command> commands;
};

// A command below `parent`.
CLI::App* AddSubcommand(Program* program, CLI::App* parent, const char* name,
                        Command command, const char* description,
                        const char* footer) {
  CLI::App* app = parent->add_subcommand(name, description);
  app->footer(footer);
  program->commands[app] = command;
  return app;
}

CLI::App* AddCommand(Program* program, const char* name, Command command,
                     const char* description, const char* footer) {
  CLI::App* app =
      AddSubcommand(program, &program->app, name, command, description, footer);
  app->group("Commands");
  return app;
}

void AddPlan(Program* program) {
  CLI::App* app = AddCommand(
      program, "plan", &RunPlan, "Pack a list in this process, no server",
      "A histogram has no order of arrival: it is packed as one window.\n"
      "\n"
      "Example:\n"
      "  packhouse plan lengths.txt --capacity 4096 --packs packs.jsonl");
  AddLengths(app, &program->options, kPlanLengthsText);
  AddOutput(app, &program->options);
  AddCost(app, &program->options);
  AddSpec(app, &program->options);
}

void AddStream(Program* program) {
  CLI::App* app = AddCommand(
      program, "stream", &RunStream, "Pack a list through a packhoused",
      "The packs are those of plan, byte for byte, also where a server dies\n"
      "and the stream goes on at another, or at the same one when it is back.\n"
      "\n"
      "Example:\n"
      "  packhouse stream lengths.txt --target unix:/run/packhouse.sock \\\n"
      "      --capacity 4096 --streams 4 --packs packs.jsonl");
  AddLengths(app, &program->options, kLengthsText);
  AddOutput(app, &program->options);
  AddCost(app, &program->options);
  AddStreams(app, &program->options);
  AddSpec(app, &program->options);
  AddServer(app, &program->options);
  AddSurvival(app, &program->options);
  AddBatch(app, &program->options);
}

void AddVerify(Program* program) {
  CLI::App* app = AddCommand(
      program, "verify", &RunVerify, "Prove that packs are right",
      "Checks that each sequence is in exactly one pack and that no pack is\n"
      "over a limit; not whether the packing rule was followed.\n"
      "\n"
      "Example:\n"
      "  packhouse verify lengths.txt packs.jsonl --capacity 4096");
  AddLengths(app, &program->options, kLengthsText);
  app->add_option("PACKS", program->options.packs_path,
                  "What plan or stream wrote with --packs: JSON Lines with\n"
                  "the keys \"ordinals\" and \"lengths\", of several streams\n"
                  "also \"stream\"")
      ->type_name("")
      ->required();
  AddJson(app, &program->options);
  AddStreams(app, &program->options);
  AddSpec(app, &program->options);
}

void AddAdvise(Program* program) {
  CLI::App* app = AddCommand(
      program, "advise", &RunAdvise, "Say what each rule and window would give",
      "Every rule packs the list at each capacity and window; a histogram is\n"
      "packed whole. Ends with the options to use, and why.\n"
      "\n"
      "Example:\n"
      "  packhouse advise lengths.txt --capacity 4096 --html advice.html");
  AddLengths(app, &program->options, kPlanLengthsText);
  AddAdvise(app, &program->options);
}

void AddBench(Program* program) {
  CLI::App* app =
      program->app.add_subcommand("bench", "Measure how fast this machine is");
  app->group("Commands");
  app->require_subcommand(0, 1);
  app->footer("packhouse bench SUBJECT --help says more.");
  CLI::App* packing = AddSubcommand(
      program, app, "packing", &RunBenchPacking,
      "The packing rules, in this process",
      "One thread packs the same list again and again by each rule.\n"
      "\n"
      "Example:\n"
      "  packhouse bench packing --window 256 --json");
  AddBenchPacking(packing, &program->options);
  CLI::App* service = AddSubcommand(
      program, app, "service", &RunBenchService,
      "A packhoused under load, from outside",
      "Streams send batches and take the time until each is answered.\n"
      "\n"
      "Example:\n"
      "  packhouse bench service --target unix:/run/packhouse.sock \\\n"
      "      --streams 8 --batch 1024 --rate 2000");
  AddBenchService(service, &program->options);
}

std::string MasksFooter() {
  std::string footer =
      "Without --format and --json it draws the mask. docs/formats.md says "
      "what\n"
      "the formats are and who takes them:\n";
  std::string line;
  for (int i = 0; i < kFormats; ++i) {
    const absl::string_view name = FormatName(static_cast<Format>(i));
    if (line.size() + name.size() > kFooterColumns) {
      absl::StrAppend(&footer, line, "\n");
      line.clear();
    }
    absl::StrAppend(&line, "  ", name);
  }
  absl::StrAppend(&footer, line, "\n",
                  "\n"
                  "Examples:\n"
                  "  packhouse masks --rows \"5,3;12\" --capacity 12\n"
                  "  packhouse masks --rows \"5,3;12\" --capacity 12 \\\n"
                  "      --format cu_seqlens,position_ids --json");
  return footer;
}

void AddMasks(Program* program) {
  CLI::App* app =
      AddCommand(program, "masks", &RunMasks,
                 "Show what attention is given for a batch, and draw the mask",
                 MasksFooter().c_str());
  AddMasks(app, &program->options);
}

void AddHealth(Program* program) {
  CLI::App* app = AddCommand(
      program, "health", &RunHealth, "Ask whether a packhoused is serving",
      "Prints \"serving\" and exits 0, or says why not and exits 1.\n"
      "\n"
      "Example:\n"
      "  packhouse health --target 127.0.0.1:7070 --answer-within 2");
  AddServer(app, &program->options);
}

void AddStatus(Program* program) {
  CLI::App* app = AddCommand(
      program, "status", &RunStatus, "Show a packhoused and its open streams",
      "Memory is the most that a stream can come to take. Unread is what "
      "waits\n"
      "because its client does not read.\n"
      "\n"
      "Example:\n"
      "  packhouse status --target unix:/run/packhouse.sock");
  AddJson(app, &program->options);
  AddServer(app, &program->options);
}

void AddCommands(Program* program) {
  CLI::App* app = &program->app;
  app->formatter(std::make_shared<HelpFormatter>());
  app->set_version_flag("--version", "packhouse " PACKHOUSE_VERSION,
                        "Print the version and exit");
  app->set_help_flag("-h,--help", "Print this help and exit");
  app->require_subcommand(0, 1);
  app->footer(
      "packhouse COMMAND --help says more about a command.\n"
      "\n"
      "Exit codes: 0 all is well; 1 a check does not hold, or work that had\n"
      "started could not be finished; 2 wrong usage or bad input.");
  AddPlan(program);
  AddStream(program);
  AddVerify(program);
  AddAdvise(program);
  AddBench(program);
  AddMasks(program);
  AddHealth(program);
  AddStatus(program);
}

// What is wrong with the arguments that CLI11 could not parse. A mistyped
// option says more than that it is missing under its right name, and than the
// value behind it, which belongs nowhere then.
std::string UsageText(const CLI::App& app, const CLI::Error& error) {
  const std::vector<std::string> left = app.remaining(/*recurse=*/true);
  if (left.empty() || dynamic_cast<const CLI::ValidationError*>(&error)) {
    return error.what();
  }
  const auto option = absl::c_find_if(left, [](const std::string& word) {
    return word.size() > 1 && absl::StartsWith(word, "-");
  });
  if (option != left.end()) {
    return absl::StrCat("unknown option ",
                        option->substr(0, option->find('=')));
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) {
    return absl::StrCat("unexpected argument ", Quoted(left.front()));
  }
  return error.what();
}

std::vector<std::string> SubcommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands({})) {
    names.push_back(each->get_name());
  }
  return names;
}

// What CLI11 cannot check.
absl::Status CheckOptions(const CommandOptions& options, Command command) {
  if (command == &RunVerify) {
    if (options.lengths_path == "-" && options.packs_path == "-") {
      return absl::InvalidArgumentError(
          "LENGTHS and PACKS cannot both be standard input");
    }
  } else if (options.json && IsStandardOutput(options.packs_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--packs ", options.packs_path,
                     " and --json cannot share standard output"));
  }
  return absl::OkStatus();
}

// `args` with the name of a list option before each of the whole numbers that
// follow it: "--capacity 512 1024" means both, and what is behind the numbers
// is not one of them.
std::vector<std::string> WithListsSpelledOut(std::vector<std::string> args) {
  std::vector<std::string> spelled;
  std::string list;  // the option that more numbers belong to
  for (std::string& arg : args) {
    const bool is_number =
        !arg.empty() && absl::c_all_of(arg, absl::ascii_isdigit);
    if (is_number && !list.empty() && spelled.back() != list) {
      spelled.push_back(list);
    }
    if (!is_number) list.clear();
    if (arg == "--capacity" || arg == "--window") list = arg;
    spelled.push_back(std::move(arg));
  }
  return spelled;
}

// Parses `args` and runs the command they choose. Throws CLI::Error.
absl::Status Run(Program* program, std::vector<std::string> args,
                 std::ostream& out) {
  const std::vector<std::string> names = SubcommandNames(program->app);
  if (!args.empty() && args[0] == "help") {  // help COMMAND is COMMAND --help
    args.erase(args.begin());
    args.push_back("--help");
  }
  if (!args.empty() && !absl::StartsWith(args[0], "-") &&
      !absl::c_linear_search(names, args[0])) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown command ", Quoted(args[0]), "; this build has ",
                     absl::StrJoin(names, ", ")));
  }
  if (!args.empty() && args[0] == "advise") {
    args = WithListsSpelledOut(std::move(args));
  }
  std::reverse(args.begin(), args.end());
  program->app.parse(std::move(args));
  const std::vector<CLI::App*> chosen = program->app.get_subcommands();
  if (chosen.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a command is needed: ", absl::StrJoin(names, ", "),
                     "; see packhouse --help"));
  }
  const CLI::App* app = chosen.front();
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  const auto found = program->commands.find(app);
  if (found == program->commands.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        app->get_name(),
        " needs a subject: ", absl::StrJoin(SubcommandNames(*app), ", ")));
  }
  const Command command = found->second;
  absl::Status status = CheckOptions(program->options, command);
  if (!status.ok()) return status;
  return command(program->options, out);
}

int ExitCode(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  return absl::IsInvalidArgument(status) ? kExitBadInput : kExitFailed;
}

}  // namespace

int CliMain(std::vector<std::string> args, std::ostream& out,
            std::ostream& err) {
  Program program;
  AddCommands(&program);
  absl::Status status;
  try {
    status = Run(&program, std::move(args), out);
  } catch (const CLI::Success& success) {  // help or version was asked for
    program.app.exit(success, out, err);
  } catch (const CLI::Error& error) {
    status = absl::InvalidArgumentError(UsageText(program.app, error));
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("out of memory");
  }
  out.flush();
  if (status.ok() && !out) {
    status = absl::UnknownError("cannot write to standard output");
  }
  if (!status.ok()) {
    err << "packhouse: " << OneLine(status.message()) << "\n";
  }
  return ExitCode(status);
}

}  // namespace packhouse
