#include "client/cli/options.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/cli/error_text.h"
#include "packhouse/spec.h"
#include "session/messages.h"

namespace packhouse {
namespace {

constexpr char kPackingGroup[] = "Packing";
constexpr char kServerGroup[] = "Server";
constexpr char kLoadGroup[] = "Load";

// For options that mean something else when they are left out than when their
// value is empty.
std::string CheckNotEmpty(const std::string& text) {
  return text.empty() ? "the value is empty" : "";
}

// The shortest wait, and the longest for a server.
constexpr double kMinSeconds = 0.001;
constexpr double kMaxWaitSeconds = 1e9;

template <typename Integer>
Integer ParseInteger(const char* name, const std::string& text, Integer min,
                     Integer max) {
  Integer value;
  if (!absl::SimpleAtoi(text, &value) || value < min || value > max) {
    throw CLI::ValidationError(
        name, absl::StrCat(Quoted(text), " is not a whole number from ", min,
                           " to ", max));
  }
  return value;
}

// An option whose value is a whole number from `min` to `max`, in decimal
// digits: CLI11's own conversion would take 010 for 8.
template <typename Integer>
CLI::Option* AddInteger(CLI::App* app, const char* name,
                        std::function<void(Integer)> set, Integer min,
                        Integer max, const std::string& description) {
  return app
      ->add_option_function<std::string>(
          name,
          [=](const std::string& text) {
            set(ParseInteger(name, text, min, max));
          },
          description)
      ->type_name("N");
}

template <typename Integer>
CLI::Option* AddInteger(CLI::App* app, const char* name, Integer* value,
                        Integer min, Integer max,
                        const std::string& description) {
  return AddInteger<Integer>(
      app, name, [value](Integer given) { *value = given; }, min, max,
      description);
}

// An option whose value is a number from `min` to `max`.
CLI::Option* AddReal(CLI::App* app, const char* name, double min, double max,
                     const std::string& description,
                     std::function<void(double)> set) {
  return app->add_option_function<std::string>(
      name,
      [=](const std::string& text) {
        double value = 0;
        // Written so that it does not hold for nan.
        if (!absl::SimpleAtod(text, &value) ||
            !(value >= min && value <= max)) {
          throw CLI::ValidationError(
              name, absl::StrFormat("%s is not a number from %g to %.10g",
                                    Quoted(text), min, max));
        }
        set(value);
      },
      description);
}

// An option whose value is one of `names`, which are those of the values of
// `Choice` in their order.
template <typename Choice, size_t kChoices>
void AddChoice(CLI::App* app, const char* name, Choice* value,
               const char* const (&names)[kChoices],
               const std::string& description) {
  app->add_option_function<std::string>(
         name,
         [name, value, &names](const std::string& text) {
           const auto it = std::find(std::begin(names), std::end(names), text);
           if (it == std::end(names)) {
             throw CLI::ValidationError(
                 name, absl::StrCat(Quoted(text), " is not one of ",
                                    absl::StrJoin(names, ", ")));
           }
           *value = static_cast<Choice>(it - std::begin(names));
         },
         absl::StrCat(description, ":\n", absl::StrJoin(names, ", "),
                      "\n(default ", names[static_cast<int>(*value)], ")"))
      ->type_name("NAME")
      ->group(kPackingGroup);
}

std::string RuleNames(bool online) {
  std::vector<std::string> names;
  for (std::string& name : AlgorithmNames()) {
    if (IsOnline(name) == online) names.push_back(std::move(name));
  }
  return absl::StrJoin(names, ", ");
}

// What holds in a pack whichever rule fills it, and the policies.
void AddLimits(CLI::App* app, PackSpec* spec) {
  AddInteger(app, "--max-sequences", &spec->max_sequences_per_pack, int64_t{0},
             kMaxSequencesPerPack,
             "Sequences that a pack may hold (default 0, no limit)")
      ->group(kPackingGroup);
  AddInteger(app, "--alignment", &spec->sequence_alignment, int64_t{1},
             kMaxCapacityTokens,
             "Round each sequence up to a multiple of N tokens, at\n"
             "most the capacity (default 1)")
      ->group(kPackingGroup);
  AddChoice(app, "--overlong", &spec->overlong, kOverlongNames,
            "What to do with a sequence over the capacity");
  AddChoice(app, "--empty", &spec->empty, kEmptyNames,
            "What to do with a sequence of no tokens");
}

// An option of whole numbers, given once for each or with commas.
void AddIntegers(CLI::App* app, const char* name, std::vector<int64_t>* values,
                 int64_t max, const std::string& description) {
  app->add_option_function<std::vector<std::string>>(
         name,
         [=](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             values->push_back(ParseInteger(name, text, int64_t{1}, max));
           }
         },
         description)
      ->allow_extra_args(false)
      ->delimiter(',')
      ->type_name("N")
      ->group(kPackingGroup);
}

// A time in seconds; `text` gets the default behind it.
void AddSeconds(CLI::App* app, const char* name, double min,
                absl::Duration* time, const char* text) {
  AddReal(app, name, min, kMaxWaitSeconds,
          absl::StrCat(text, " (default ", absl::ToInt64Seconds(*time), ")"),
          [time](double seconds) { *time = absl::Seconds(seconds); })
      ->type_name("SECONDS")
      ->group(kServerGroup);
}

void AddField(CLI::App* app, CommandOptions* options) {
  app->add_option("--field", options->field,
                  "LENGTHS is JSON Lines; NAME is the key of the length")
      ->check(&CheckNotEmpty)
      ->type_name("NAME");
}

// Any of them asks for TLS.
void AddTls(CLI::App* app, CommandOptions* options) {
  const auto tls = [options]() -> TlsOptions& {
    if (!options->client.tls.has_value()) options->client.tls.emplace();
    return *options->client.tls;
  };
  app->add_flag_callback(
         "--tls", [tls] { tls(); },
         "Speak TLS; the server's certificate has to come from\n"
         "an authority that this system trusts")
      ->group(kServerGroup);
  const auto add = [=](const char* name, std::string TlsOptions::*field,
                       const char* type, const char* description) {
    app->add_option_function<std::string>(
           name, [=](const std::string& text) { tls().*field = text; },
           description)
        ->check(&CheckNotEmpty)
        ->type_name(type)
        ->group(kServerGroup);
  };
  add("--tls-ca", &TlsOptions::ca_file, "FILE",
      "Speak TLS; it has to come from one of the authorities\n"
      "in this PEM file");
  add("--tls-cert", &TlsOptions::cert_file, "FILE",
      "Speak TLS, and show the server this PEM certificate");
  add("--tls-key", &TlsOptions::key_file, "FILE", "Its private key");
  add("--tls-server-name", &TlsOptions::server_name, "NAME",
      "Speak TLS, with a server whose certificate has this\n"
      "name (default: the host of --target)");
}

// LENGTHS of benchmarks, which have a list of their own.
void AddBenchLengths(CLI::App* app, CommandOptions* options) {
  app->add_option("LENGTHS", options->lengths_path,
                  "Sequence lengths in tokens, as plan takes a list\n"
                  "(default: 262144 log-normal ones)")
      ->type_name("")
      ->check(&CheckNotEmpty);
  AddField(app, options);
}

}  // namespace

void AddLengths(CLI::App* app, CommandOptions* options, const char* text) {
  app->add_option("LENGTHS", options->lengths_path, text)
      ->type_name("")
      ->required();
  AddField(app, options);
}

void AddSpec(CLI::App* app, CommandOptions* options) {
  PackSpec* spec = &options->spec;
  AddInteger(app, "--capacity", &spec->capacity_tokens, int64_t{1},
             kMaxCapacityTokens, "Tokens that a pack holds")
      ->required()
      ->group(kPackingGroup);
  app->add_option(
         "--algorithm", spec->algorithm,
         absl::StrCat("Packing rule (default ", spec->algorithm,
                      "); of lists and streams:\n", RuleNames(/*online=*/true),
                      ";\nof whole lists:\n", RuleNames(/*online=*/false)))
      ->type_name("NAME")
      ->group(kPackingGroup);
  AddInteger(
      app, "--window", &spec->window_sequences, int64_t{1}, kMaxWindowSequences,
      absl::StrCat("Sequences looked at together, by the rules for streams\n"
                   "(default ",
                   spec->window_sequences,
                   "); a server may allow less than\nplan does"))
      ->group(kPackingGroup)
      ->each([options](const std::string&) { options->window_given = true; });
  AddLimits(app, spec);
  AddInteger<uint64_t>(
      app, "--seed", [spec](uint64_t seed) { spec->seed = seed; }, 0,
      std::numeric_limits<uint64_t>::max(),
      "Release the packs of each window in the pseudo-random\n"
      "order of this seed")
      ->group(kPackingGroup);
  AddChoice(app, "--effort", &spec->effort, kEffortNames,
            "How hard sliding tries");
  AddInteger(app, "--max-displacement", &spec->max_displacement, int64_t{1},
             kMaxDisplacementSequences,
             "With sliding, no sequence waits for more than N later\n"
             "ones (default 4 windows)")
      ->group(kPackingGroup);
  AddReal(app, "--budget", kMinSeconds, kMaxBudgetSeconds,
          "How long best may search (default 1)",
          [spec](double seconds) { spec->budget_seconds = seconds; })
      ->type_name("SECONDS")
      ->group(kPackingGroup);
}

void AddStreams(CLI::App* app, CommandOptions* options) {
  AddInteger(app, "--streams", &options->streams, uint64_t{1}, kMaxStreams,
             absl::StrCat("Concurrent streams, 1 to ", kMaxStreams,
                          " (default 1);\n"
                          "sequence i of LENGTHS is ordinal i div N of stream\n"
                          "i mod N, both from 0"));
}

void AddJson(CLI::App* app, CommandOptions* options) {
  app->add_flag("--json", options->json, "Print one JSON object");
}

void AddOutput(CLI::App* app, CommandOptions* options) {
  app->add_option("--packs", options->packs_path,
                  "Write the packs here as JSON Lines; - is standard\n"
                  "output, which then has no report")
      ->check(&CheckNotEmpty)
      ->type_name("FILE");
  app->add_option("--fates", options->fates_path,
                  "Write here, as JSON Lines, what became of each sequence\n"
                  "that is not in a pack whole")
      ->check(&CheckNotEmpty)
      ->type_name("FILE");
  AddJson(app, options);
}

void AddCost(CLI::App* app, CommandOptions* options) {
  const auto add = [&](const char* name, double* coefficient,
                       const char* text) {
    AddReal(app, name, 0, kMaxCostCoefficient, text,
            [coefficient](double value) { *coefficient = value; })
        ->type_name("X");
  };
  add("--cost-per-token", &options->cost.per_token,
      "Report costs: a sequence of L tokens costs X times L");
  add("--cost-per-token-squared", &options->cost.per_token_squared,
      "... and X times L squared; 24576 and 1 fit a model of 7\n"
      "billion parameters, 0 and 1 attention alone");
}

void AddServer(CLI::App* app, CommandOptions* options) {
  app->add_option_function<std::vector<std::string>>(
         "--target",
         [options](const std::vector<std::string>& targets) {
           options->client.target = absl::StrJoin(targets, ",");
         },
         "Address of packhoused: unix:PATH or HOST:PORT. Several,\n"
         "with commas or the option again: the first that answers")
      ->allow_extra_args(false)
      ->type_name("ADDR")
      ->required()
      ->check(&CheckNotEmpty)
      ->group(kServerGroup);
  AddSeconds(app, "--answer-within", kMinSeconds,
             &options->client.answer_within,
             "Give up a server that owes an answer for so long,\n"
             "and try the next");
  AddTls(app, options);
}

void AddSurvival(CLI::App* app, CommandOptions* options) {
  AddSeconds(app, "--unavailable-for", 0, &options->client.unavailable_for,
             "Go on while no server answers, for so long; 0: not\n"
             "at all");
  AddReal(app, "--flush-after", kMinSeconds, kMaxWaitSeconds,
          "Flush a stream that was given nothing for so long\n"
          "(default: never)",
          [options](double seconds) {
            options->client.flush_after = absl::Seconds(seconds);
          })
      ->type_name("SECONDS")
      ->group(kServerGroup);
}

void AddAdvise(CLI::App* app, CommandOptions* options) {
  AdviceQuery* query = &options->advice;
  AddJson(app, options);
  app->add_option("--html", options->html_path,
                  "Write a page with charts here; - is standard output,\n"
                  "which then has nothing else")
      ->check(&CheckNotEmpty)
      ->type_name("FILE");
  AddIntegers(app, "--capacity", &query->capacities, kMaxCapacityTokens,
              "Tokens that a pack holds; may be given several times\n"
              "(default: powers of two that suit the lengths)");
  AddIntegers(app, "--window", &query->windows, kMaxWindowSequences,
              "Sequences looked at together; may be given several\n"
              "times (default 64, 256, 1024 and 4096, as far as the\n"
              "list is longer)");
  AddLimits(app, &query->limits);
  app->add_flag("--all", query->all,
                "Rules and efforts for audit too: nnlshp, the published\n"
                "batch forms, sliding thorough")
      ->group(kPackingGroup);
}

void AddBenchPacking(CLI::App* app, CommandOptions* options) {
  SpeedQuery* query = &options->bench;
  PackSpec* spec = &query->limits;
  AddBenchLengths(app, options);
  AddJson(app, options);
  AddInteger(app, "--capacity", &spec->capacity_tokens, int64_t{1},
             kMaxCapacityTokens,
             absl::StrCat("Tokens that a pack holds (default ",
                          spec->capacity_tokens, ")"))
      ->group(kPackingGroup);
  app->add_option("--algorithm", query->algorithms,
                  "Rule for streams; may be given several times (default:\n"
                  "all of them)")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->type_name("NAME")
      ->group(kPackingGroup);
  AddInteger(app, "--window", &spec->window_sequences, int64_t{1},
             kMaxWindowSequences,
             absl::StrCat("Sequences looked at together (default ",
                          spec->window_sequences, ")"))
      ->group(kPackingGroup);
  AddLimits(app, spec);
}

void AddBenchService(CLI::App* app, CommandOptions* options) {
  constexpr uint64_t kMaxInFlight = 1 << 16;
  constexpr double kMaxBatchesPerSecond = 1e6;
  constexpr double kMaxLoadSeconds = 1e6;
  LoadQuery* load = &options->load;
  AddBenchLengths(app, options);
  AddJson(app, options);
  AddServer(app, options);
  AddBatch(app, options);
  AddInteger(app, "--streams", &options->streams, uint64_t{1}, kMaxStreams,
             absl::StrCat("Concurrent streams, each on a connection of its\n"
                          "own, 1 to ",
                          kMaxStreams, " (default 1)"))
      ->group(kLoadGroup);
  AddInteger(
      app, "--in-flight", &load->in_flight, uint64_t{1}, kMaxInFlight,
      absl::StrCat("Batches that a stream has on the way at most, within\n"
                   "the server's credit (default ",
                   load->in_flight, ")"))
      ->group(kLoadGroup);
  AddReal(app, "--rate", 0, kMaxBatchesPerSecond,
          "Batches a second of all streams together (default 0,\n"
          "as many as --in-flight allows)",
          [load](double rate) { load->batches_per_second = rate; })
      ->type_name("X")
      ->group(kLoadGroup);
  AddReal(
      app, "--seconds", 0, kMaxLoadSeconds,
      absl::StrFormat("How long batches are sent, from when all streams are\n"
                      "open (default %g)",
                      load->seconds),
      [load](double seconds) { load->seconds = seconds; })
      ->type_name("SECONDS")
      ->group(kLoadGroup);
  AddSpec(app, options);
  // A default that the other commands do not see: to them the option is
  // required.
  options->spec.capacity_tokens = kBenchCapacityTokens;
  app->get_option("--capacity")
      ->required(false)
      ->description(absl::StrCat("Tokens that a pack holds (default ",
                                 kBenchCapacityTokens, ")"));
}

void AddBatch(CLI::App* app, CommandOptions* options) {
  AddInteger(app, "--batch", &options->client.batch_sequences, uint32_t{1},
             kMaxBatchSequences,
             absl::StrCat("Sequences a message, 1 to ", kMaxBatchSequences,
                          " (default ", options->client.batch_sequences,
                          ");\nthe packs are the same for any"))
      ->group(kServerGroup);
}

}  // namespace packhouse
