#include "client/cli/options.h"

#include <string>

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
constexpr char kHidden[] = "";

// Options of the blueprint that this build does not have. They are known so
// that they can be refused by name.
constexpr const char* kNotBuilt[] = {"--seed", "--effort", "--max-displacement",
                                     "--budget"};

// For options that mean something else when they are left out than when their
// value is empty.
std::string CheckNotEmpty(const std::string& text) {
  return text.empty() ? "the value is empty" : "";
}

// The shortest and the longest --wait-limit.
constexpr double kMinWaitSeconds = 0.001;
constexpr double kMaxWaitSeconds = 1e9;

// An option whose value is a whole number from `min` to `max`, in decimal
// digits: CLI11's own conversion would take 010 for 8.
template <typename Integer>
CLI::Option* AddInteger(CLI::App* app, const char* name, Integer* value,
                        Integer min, Integer max,
                        const std::string& description) {
  return app
      ->add_option_function<std::string>(
          name,
          [=](const std::string& text) {
            if (!absl::SimpleAtoi(text, value) || *value < min ||
                *value > max) {
              throw CLI::ValidationError(
                  name,
                  absl::StrCat(Quoted(text), " is not a whole number from ",
                               min, " to ", max));
            }
          },
          description)
      ->type_name("N");
}

// An option of the blueprint of which this build has one value, the default.
void AddOnlyError(CLI::App* app, const char* name,
                  const std::string& description) {
  app->add_option_function<std::string>(
         name,
         [name](const std::string& text) {
           if (text != "error") {
             throw CLI::ValidationError(
                 name,
                 absl::StrCat(Quoted(text), ": this build has only \"error\""));
           }
         },
         description)
      ->type_name("error")
      ->group(kPackingGroup);
}

}  // namespace

void AddLengths(CLI::App* app, CommandOptions* options, const char* text) {
  app->add_option("LENGTHS", options->lengths_path, text)
      ->type_name("")
      ->required();
  app->add_option("--field", options->field,
                  "LENGTHS is JSON Lines; NAME is the key of the length")
      ->check(&CheckNotEmpty)
      ->type_name("NAME");
}

void AddSpec(CLI::App* app, CommandOptions* options) {
  PackSpec* spec = &options->spec;
  AddInteger(app, "--capacity", &spec->capacity_tokens, int64_t{1},
             kMaxCapacityTokens, "Tokens that a pack holds")
      ->required()
      ->group(kPackingGroup);
  app->add_option(
         "--algorithm", spec->algorithm,
         absl::StrCat("Packing rule: ", absl::StrJoin(AlgorithmNames(), ", "),
                      " (default ", spec->algorithm, ")"))
      ->type_name("NAME")
      ->group(kPackingGroup);
  AddInteger(app, "--window", &spec->window_sequences, int64_t{1},
             kMaxWindowSequences,
             absl::StrCat("Sequences looked at together (default ",
                          spec->window_sequences,
                          ");\n"
                          "a server may allow less than plan does"))
      ->group(kPackingGroup)
      ->each([options](const std::string&) { options->window_given = true; });
  AddInteger(app, "--max-sequences", &spec->max_sequences_per_pack, int64_t{0},
             kMaxSequencesPerPack,
             "Sequences that a pack may hold (default 0, no limit)")
      ->group(kPackingGroup);
  AddInteger(app, "--alignment", &spec->sequence_alignment, int64_t{1},
             kMaxCapacityTokens,
             "Round each sequence up to a multiple of N tokens, at\n"
             "most the capacity (default 1)")
      ->group(kPackingGroup);
  AddOnlyError(app, "--overlong",
               "A sequence over the capacity is an error, the default\n"
               "and all that this build has");
  AddOnlyError(app, "--empty", "A sequence of no tokens: likewise");
  for (const char* name : kNotBuilt) {
    app->add_option_function<std::string>(
           name,
           [name](const std::string&) {
             throw CLI::ValidationError(name, "this build does not have it");
           })
        ->group(kHidden);
  }
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
  AddJson(app, options);
}

void AddServer(CLI::App* app, CommandOptions* options) {
  app->add_option("--target", options->client.target,
                  "Address of packhoused: unix:PATH or HOST:PORT")
      ->type_name("ADDR")
      ->required()
      ->check(&CheckNotEmpty)
      ->group(kServerGroup);
  app->add_option_function<std::string>(
         "--wait-limit",
         [options](const std::string& text) {
           double seconds = 0;
           // Written so that it does not hold for nan.
           if (!absl::SimpleAtod(text, &seconds) ||
               !(seconds >= kMinWaitSeconds && seconds <= kMaxWaitSeconds)) {
             throw CLI::ValidationError(
                 "--wait-limit",
                 absl::StrFormat("%s is not a number from %.3f to %.0f",
                                 Quoted(text), kMinWaitSeconds,
                                 kMaxWaitSeconds));
           }
           options->client.wait_limit = absl::Seconds(seconds);
         },
         absl::StrCat("Give up when one answer takes longer (default ",
                      absl::ToInt64Seconds(options->client.wait_limit), ")"))
      ->type_name("SECONDS")
      ->group(kServerGroup);
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
