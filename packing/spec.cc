#include "packhouse/spec.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace packhouse {
namespace {

constexpr size_t kNamedOffenders = 5;

// Its time grows with the cube of the capacity, to some seconds here.
constexpr int64_t kMaxNnlshpUnits = 1024;

void CheckRange(absl::string_view field, int64_t value, int64_t low,
                int64_t high, std::vector<std::string>* violations) {
  if (value >= low && value <= high) return;
  violations->push_back(absl::StrCat(field, " is ", value, ", it must be from ",
                                     low, " to ", high));
}

// What a client sends must not swell an error.
std::string Shortened(absl::string_view text) {
  constexpr size_t kShown = 64;
  if (text.size() <= kShown) return std::string(text);
  return absl::StrCat(text.substr(0, kShown), "... (", text.size(), " bytes)");
}

// A value of an enum that came over the wire may be of a later version.
template <typename Choice, size_t kChoices>
void CheckChoice(absl::string_view field, Choice choice,
                 const char* const (&names)[kChoices],
                 std::vector<std::string>* violations) {
  const int value = static_cast<int>(choice);
  if (value >= 0 && value < static_cast<int>(kChoices)) return;
  violations->push_back(absl::StrCat(field, " is number ", value,
                                     ", the known ones are ",
                                     absl::StrJoin(names, ", ")));
}

// A field that only one rule reads is refused with any other, not ignored.
void CheckOnlyOf(absl::string_view rule, absl::string_view field, bool is_set,
                 const PackSpec& spec, std::vector<std::string>* violations) {
  if (!is_set || spec.algorithm == rule) return;
  violations->push_back(absl::StrCat(field, " is of ", rule,
                                     " only, algorithm is \"",
                                     Shortened(spec.algorithm), "\""));
}

std::string Offence(const PackSpec& spec, uint64_t ordinal, uint32_t length) {
  const std::string what =
      absl::StrCat("ordinal ", ordinal, " has length ", length);
  if (length == 0) return absl::StrCat(what, ", it must be at least 1");
  if (spec.overlong == Overlong::kSplit) {
    return absl::StrCat(what, ", more than ", kMaxPiecesPerSequence,
                        " pieces of ", LongestPiece(spec), " tokens");
  }
  const std::string limit = absl::StrCat("capacity ", spec.capacity_tokens);
  if (spec.sequence_alignment == 1) return absl::StrCat(what, " > ", limit);
  return absl::StrCat(what, ", footprint ", Footprint(spec, length), " > ",
                      limit);
}

}  // namespace

bool operator==(const PackSpec& a, const PackSpec& b) {
  const auto fields = [](const PackSpec& s) {
    return std::tie(s.capacity_tokens, s.algorithm, s.window_sequences,
                    s.max_sequences_per_pack, s.sequence_alignment, s.overlong,
                    s.empty, s.seed, s.effort, s.max_displacement,
                    s.budget_seconds);
  };
  return fields(a) == fields(b);
}

absl::Status ValidateSpec(const PackSpec& spec) {
  std::vector<std::string> violations;
  CheckRange("capacity_tokens", spec.capacity_tokens, 1, kMaxCapacityTokens,
             &violations);
  const std::vector<std::string> names = AlgorithmNames();
  if (std::find(names.begin(), names.end(), spec.algorithm) == names.end()) {
    violations.push_back(
        absl::StrCat("algorithm is \"", Shortened(spec.algorithm),
                     "\", the known ones are ", absl::StrJoin(names, ", ")));
  }
  CheckRange("window_sequences", spec.window_sequences, 1, kMaxWindowSequences,
             &violations);
  CheckRange("max_sequences_per_pack", spec.max_sequences_per_pack, 0,
             kMaxSequencesPerPack, &violations);
  // Where the capacity is wrong itself, the alignment is held against the
  // widest one, so that one mistake is not reported twice.
  const bool capacity_ok =
      spec.capacity_tokens >= 1 && spec.capacity_tokens <= kMaxCapacityTokens;
  CheckRange("sequence_alignment", spec.sequence_alignment, 1,
             capacity_ok ? spec.capacity_tokens : kMaxCapacityTokens,
             &violations);
  CheckChoice("overlong", spec.overlong, kOverlongNames, &violations);
  CheckChoice("empty", spec.empty, kEmptyNames, &violations);
  CheckChoice("effort", spec.effort, kEffortNames, &violations);
  CheckRange("max_displacement", spec.max_displacement, 0,
             kMaxDisplacementSequences, &violations);
  if (!(spec.budget_seconds >= 0 && spec.budget_seconds <= kMaxBudgetSeconds)) {
    violations.push_back(absl::StrCat("budget_seconds is ", spec.budget_seconds,
                                      ", it must be from 0 to ",
                                      kMaxBudgetSeconds));
  }
  CheckOnlyOf("sliding", "effort", spec.effort != Effort::kBalanced, spec,
              &violations);
  CheckOnlyOf("sliding", "max_displacement", spec.max_displacement != 0, spec,
              &violations);
  CheckOnlyOf("best", "budget_seconds", spec.budget_seconds != 0, spec,
              &violations);
  if (spec.algorithm == "sliding" && spec.seed.has_value()) {
    violations.push_back(absl::StrCat(
        "seed is ", *spec.seed, ", but sliding has no windows to shuffle"));
  }
  const int64_t units = spec.sequence_alignment > 0
                            ? spec.capacity_tokens / spec.sequence_alignment
                            : 0;
  if (spec.algorithm == "nnlshp" && units > kMaxNnlshpUnits) {
    violations.push_back(absl::StrCat("capacity_tokens is ",
                                      spec.capacity_tokens,
                                      ", with nnlshp it must be at "
                                      "most ",
                                      kMaxNnlshpUnits, " times the alignment"));
  }
  if (violations.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(violations, "; "));
}

uint64_t Footprint(const PackSpec& spec, uint64_t length) {
  const uint64_t alignment = static_cast<uint64_t>(spec.sequence_alignment);
  return (length + alignment - 1) / alignment * alignment;
}

uint32_t LongestPiece(const PackSpec& spec) {
  return static_cast<uint32_t>(spec.capacity_tokens -
                               spec.capacity_tokens % spec.sequence_alignment);
}

uint32_t LongestAccepted(const PackSpec& spec) {
  constexpr uint32_t kAny = std::numeric_limits<uint32_t>::max();
  const uint32_t longest = LongestPiece(spec);
  if (spec.overlong == Overlong::kError) return longest;
  if (spec.overlong != Overlong::kSplit) return kAny;
  return static_cast<uint32_t>(
      std::min<uint64_t>(kAny, uint64_t{longest} * kMaxPiecesPerSequence));
}

absl::Status CheckLengths(const PackSpec& spec,
                          absl::Span<const uint32_t> lengths,
                          uint64_t first_ordinal) {
  // A footprint fits the capacity exactly if the length fits the longest piece.
  // Subtracting the shortest makes 0 wrap around to the largest value where it
  // is too short, so that one comparison checks both ends.
  const uint32_t shortest = spec.empty == Empty::kError ? 1 : 0;
  const uint32_t longest = LongestAccepted(spec);
  const uint32_t span = longest - shortest;
  uint32_t largest = 0;
  for (uint32_t length : lengths) {
    largest = std::max(largest, length - shortest);
  }
  if (largest <= span) return absl::OkStatus();

  std::vector<std::string> named;
  uint64_t offenders = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] - shortest <= span) continue;
    if (++offenders <= kNamedOffenders) {
      named.push_back(Offence(spec, first_ordinal + i, lengths[i]));
    }
  }
  if (offenders > kNamedOffenders) {
    named.push_back(absl::StrCat("and ", offenders - kNamedOffenders, " more"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      offenders, " of ", lengths.size(),
      " sequences cannot be packed: ", absl::StrJoin(named, "; ")));
}

}  // namespace packhouse
