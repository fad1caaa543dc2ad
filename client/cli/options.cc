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
constexpr char kBatchGroup[] = "Batch";
constexpr char kFormatGroup[] = "Formats";

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

// An option whose value is one of `names`; `set` gets the place of it.
CLI::Option* AddNamed(CLI::App* app, const char* name,
                      const std::vector<std::string>& names,
                      std::function<void(size_t)> set,
                      const std::string& description) {
  return app
      ->add_option_function<std::string>(
          name,
          [=](const std::string& text) {
            const auto it = std::find(names.begin(), names.end(), text);
            if (it == names.end()) {
              throw CLI::ValidationError(
                  name, absl::StrCat(Quoted(text), " is not one of ",
                                     absl::StrJoin(names, ", ")));
            }
            set(static_cast<size_t>(it - names.begin()));
          },
          description)
      ->type_name("NAME");
}

// An option whose value is one of `names`, which are those of the values of
// `Choice` in their order.
template <typename Choice>
CLI::Option* AddChoice(CLI::App* app, const char* name, Choice* value,
                       const std::vector<std::string>& names,
                       const std::string& description) {
  return AddNamed(
      app, name, names,
      [value](size_t place) { *value = static_cast<Choice>(place); },
      absl::StrCat(description, ":\n", absl::StrJoin(names, ", "),
                   "\n(default ", names[static_cast<size_t>(*value)], ")"));
}

template <typename Choice, size_t kChoices>
CLI::Option* AddChoice(CLI::App* app, const char* name, Choice* value,
                       const char* const (&names)[kChoices],
                       const std::string& description) {
  return AddChoice(app, name, value,
                   std::vector<std::string>(std::begin(names), std::end(names)),
                   description);
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
            "What to do with a sequence over the capacity")
      ->group(kPackingGroup);
  AddChoice(app, "--empty", &spec->empty, kEmptyNames,
            "What to do with a sequence of no tokens")
      ->group(kPackingGroup);
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

// The rows of a batch.
void AddBatchLayout(CLI::App* app, MasksQuery* query) {
  LayoutSpec* layout = &query->layout;
  app->add_option("--rows", query->rows,
                  "Lengths of the sequences, with commas between them and\n"
                  "semicolons between rows: \"5,3;12\"")
      ->type_name("ROWS")
      ->required()
      ->group(kBatchGroup);
  AddInteger(app, "--capacity", &layout->row_tokens, int64_t{1},
             kMaxBatchTokens, "Tokens that a row holds")
      ->required()
      ->group(kBatchGroup);
  std::vector<std::string> pad_modes;
  for (int i = 0; i <= static_cast<int>(PadMode::kSlots); ++i) {
    pad_modes.emplace_back(PadModeName(static_cast<PadMode>(i)));
  }
  AddChoice(app, "--pad-mode", &layout->pad_mode, pad_modes,
            "What padding is to attention")
      ->group(kBatchGroup);
  AddInteger(app, "--alignment", &layout->alignment, int64_t{1},
             kMaxBatchTokens,
             "Sequences begin at multiples of N tokens (default 1)")
      ->group(kBatchGroup);
  AddInteger(app, "--trim-multiple", &layout->trim_multiple, int64_t{1},
             kMaxBatchTokens,
             "With --pad-mode trim, fill up to a multiple of N\n"
             "tokens (default 1)")
      ->group(kBatchGroup);
  app->add_flag("--flat", layout->flat, "Look at all rows as one")
      ->group(kBatchGroup);
}

void AddMask(CLI::App* app, MasksQuery* query) {
  AddChoice(app, "--mask", &query->options.mask.kind, kMaskNames,
            "Which pairs of a sequence attend")
      ->group(kFormatGroup);
  AddInteger(app, "--window", &query->options.mask.window, int32_t{0},
             std::numeric_limits<int32_t>::max(),
             "Of a causal window: a token attends N tokens, itself\n"
             "among them; of a symmetric one: N to each side of it")
      ->group(kFormatGroup)
      ->each([query](const std::string&) { query->window_given = true; });
  app->add_option_function<std::string>(
         "--block-size",
         [query](const std::string& text) {
           const absl::optional<BlockShape> shape = ParseBlockShape(text);
           if (!shape.has_value()) {
             throw CLI::ValidationError(
                 "--block-size", absl::StrCat(Quoted(text),
                                              " is neither N nor QxKV, such as "
                                              "128 or 64x128"));
           }
           query->options.blocks.q = shape->q;
           query->options.blocks.kv = shape->kv;
           query->blocks_given = true;
         },
         "Sides of the blocks of a BlockMask, N or QxKV (default\n"
         "128); a picture then shows them")
      ->type_name("N")
      ->group(kFormatGroup);
  app->add_flag("--edge-full", query->options.blocks.edge_full,
                "Blocks that the edge of a row cuts may be full")
      ->group(kFormatGroup);
  app->add_flag_callback(
         "--true-masks", [query] { query->options.dense.true_attends = false; },
         "In dense masks of bool, true is what does not attend")
      ->group(kFormatGroup);
  app->add_flag_callback(
         "--lowest", [query] { query->options.dense.minus_infinity = false; },
         "In additive dense masks, the lowest finite number of\n"
         "the type in place of minus infinity")
      ->group(kFormatGroup);
  app->add_flag("--empty-rows", query->options.dense.empty_rows,
                "In dense masks, tokens that attend nothing do not even\n"
                "attend themselves")
      ->group(kFormatGroup);
}

void AddTokens(CLI::App* app, MasksQuery* query) {
  const auto add_list = [&](const char* name, absl::optional<std::string>* list,
                            const char* description) {
    app->add_option_function<std::string>(
           name, [list](const std::string& text) { *list = text; }, description)
        ->type_name("LIST")
        ->group(kFormatGroup);
  };
  add_list("--tokens", &query->tokens,
           "Of all sequences, with commas (default 0,1,2,...)");
  add_list("--labels", &query->labels, "Likewise (default: the tokens)");
  AddChoice(app, "--label-shift", &query->options.label_shift, kLabelShiftNames,
            "Which token a label stands at")
      ->group(kFormatGroup);
  const auto add_id = [&](const char* name, int64_t* id,
                          const char* description) {
    AddInteger(app, name, id, std::numeric_limits<int64_t>::min(),
               std::numeric_limits<int64_t>::max(),
               absl::StrCat(description, " (default ", *id, ")"))
        ->group(kFormatGroup);
  };
  add_id("--pad-id", &query->options.pad_id, "Token of padding");
  add_id("--ignore-id", &query->options.ignore_id,
         "Label where there is nothing to learn");
  add_id("--source-ignore-id", &query->options.source_ignore_id,
         "Which of --labels says so");
}

void AddFormats(CLI::App* app, MasksQuery* query) {
  FormatOptions* format = &query->options;
  app->add_option_function<std::vector<std::string>>(
         "--format",
         [query](const std::vector<std::string>& names) {
           for (const std::string& name : names) {
             const absl::optional<Format> found = FormatFromName(name);
             if (!found.has_value()) {
               throw CLI::ValidationError(
                   "--format", absl::StrCat(Quoted(name),
                                            " is none of the formats that "
                                            "masks --help names"));
             }
             query->formats.push_back(*found);
           }
         },
         "What to print, of the names below; with commas or the\n"
         "option again for several")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->option_text("NAME[,NAME...]")
      ->group(kFormatGroup);
  std::vector<std::string> dtypes;
  for (int i = 0; i <= static_cast<int>(DType::kFloat32); ++i) {
    dtypes.emplace_back(DTypeName(static_cast<DType>(i)));
  }
  AddNamed(
      app, "--dtype", dtypes,
      [query](size_t place) { query->dtype = static_cast<DType>(place); },
      "Element type of all formats, such as int32 or bfloat16\n"
      "(default: the usual one of each)")
      ->group(kFormatGroup);
  const auto add = [&](const char* name, int64_t* value, int64_t min,
                       const char* description) {
    AddInteger(app, name, value, min, kMaxBatchTokens,
               absl::StrCat(description, " (default ", *value, ")"))
        ->group(kFormatGroup);
  };
  add("--position-start", &format->position_start, 0,
      "Position of the first token of a segment");
  add("--max-segments", &format->max_segments, 0,
      "Fill arrays of segments up to N; 0: as many as\n"
      "there are");
  add("--row-width", &format->row_width, 0, "The same for arrays of rows");
  AddChoice(app, "--row-fill", &format->row_fill, kRowFillNames,
            "What row_cu_seqlens has behind the last of a row")
      ->group(kFormatGroup);
  add("--cp-ranks", &format->cp_ranks, 1, "Context-parallel ranks");
  add("--chunk", &format->chunk_tokens, 1, "Tokens of a chunk");
  add("--ragged-stride", &format->ragged_stride, 1,
      "Elements of a token in ragged_offsets");
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
            "How hard sliding tries")
      ->group(kPackingGroup);
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
  app->get_option("--target")
      ->description("Address of one packhoused: unix:PATH or HOST:PORT");
  app->get_option("--answer-within")
      ->description("Give up a server that owes an answer for so long");
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

void AddMasks(CLI::App* app, CommandOptions* options) {
  MasksQuery* query = &options->masks;
  AddBatchLayout(app, query);
  AddMask(app, query);
  AddTokens(app, query);
  AddFormats(app, query);
  app->add_option("--picture", query->picture_path,
                  "Draw the mask into this PNG file; - is standard output,\n"
                  "which then has nothing else")
      ->check(&CheckNotEmpty)
      ->type_name("FILE");
  app->add_flag("--json", query->json, "Print one JSON object");
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
