#include "client/cli/advise/advice_json.h"

#include "client/cli/advise/advice_words.h"
#include "client/cli/advise/length_bins.h"
#include "nlohmann/json.hpp"

namespace packhouse {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxBins = 64;

ordered_json LengthsJson(const Advice& advice) {
  ordered_json json;
  json["shortest"] = advice.lengths.front().length;
  json["longest"] = advice.lengths.back().length;
  json["mean"] = static_cast<double>(advice.tokens) /
                 static_cast<double>(advice.sequences);
  json["median"] = Quantile(advice.lengths, 0.5);
  json["p90"] = Quantile(advice.lengths, 0.9);
  json["p99"] = Quantile(advice.lengths, 0.99);
  json["histogram"] = ordered_json::array();
  for (const LengthBin& bin : LengthBins(advice.lengths, kMaxBins)) {
    json["histogram"].push_back({{"shortest", bin.shortest},
                                 {"longest", bin.longest},
                                 {"sequences", bin.sequences},
                                 {"tokens", bin.tokens}});
  }
  return json;
}

ordered_json RowJson(const Advice& advice, const AdviceRow& row) {
  ordered_json json;
  json["algorithm"] = row.spec.algorithm;
  json["effort"] = nullptr;
  if (row.spec.algorithm == "sliding") {
    json["effort"] = kEffortNames[static_cast<int>(row.spec.effort)];
  }
  json["window"] = nullptr;
  if (!row.whole_list) json["window"] = row.spec.window_sequences;
  json["packs"] = row.figures.packs;
  json["efficiency"] = *row.figures.efficiency();
  json["max_displacement"] = nullptr;
  if (advice.ordered) json["max_displacement"] = row.figures.max_displacement;
  json["mean_sequences"] = row.mean_sequences();
  json["most_sequences"] = row.most_sequences;
  json["waste_tokens"]["tail"] = row.figures.waste_tail_tokens;
  json["waste_tokens"]["alignment"] = row.figures.waste_alignment_tokens;
  json["seconds"] = row.seconds;
  return json;
}

ordered_json RecommendedJson(const CapacityAdvice& capacity) {
  if (!capacity.recommended.has_value()) return nullptr;
  const AdviceRow& row = capacity.rows[*capacity.recommended];
  ordered_json json;
  json["row"] = *capacity.recommended;
  json["options"] = SpecOptions(capacity, row);
  json["reason"] = RowReason(capacity);
  return json;
}

ordered_json CapacityJson(const Advice& advice,
                          const CapacityAdvice& capacity) {
  ordered_json json;
  json["capacity"] = capacity.capacity;
  json["overlong_sequences"] = capacity.overlong_sequences;
  json["overlong_tokens"] = capacity.overlong_tokens;
  json["refusal"] = nullptr;
  if (!capacity.refusal.empty()) json["refusal"] = capacity.refusal;
  json["units"] = capacity.intake.units;
  json["packed_tokens"] = capacity.intake.packed_tokens;
  json["truncated_tokens"] = capacity.intake.truncated_tokens;
  json["dropped_tokens"] = capacity.intake.dropped_tokens;
  json["lower_bound_packs"] = capacity.lower_bound_packs;
  json["lower_bound_efficiency"] = capacity.lower_bound_efficiency;
  json["packs_by_tokens"] = capacity.packs_by_tokens;
  json["packs_by_count"] = nullptr;
  json["limit_binds"] = nullptr;
  if (advice.query.limits.max_sequences_per_pack > 0) {
    json["packs_by_count"] = capacity.packs_by_count;
    json["limit_binds"] = capacity.limit_binds();
  }
  ordered_json& attention = json["attention_per_token"];
  attention["packed"] = capacity.attention.packed;
  attention["pad_to_longest"] = nullptr;
  if (capacity.attention.pad_to_longest.has_value()) {
    attention["pad_to_longest"] = *capacity.attention.pad_to_longest;
  }
  attention["one_per_row"] = capacity.attention.one_per_row;
  json["rows"] = ordered_json::array();
  for (const AdviceRow& row : capacity.rows) {
    json["rows"].push_back(RowJson(advice, row));
  }
  json["left_out"] = ordered_json::array();
  for (const LeftOut& rule : capacity.left_out) {
    json["left_out"].push_back({{"rule", rule.rule}, {"reason", rule.reason}});
  }
  json["recommended"] = RecommendedJson(capacity);
  return json;
}

}  // namespace

std::string AdviceJson(const Advice& advice) {
  const PackSpec& limits = advice.query.limits;
  ordered_json json;
  json["sequences"] = advice.sequences;
  json["tokens"] = advice.tokens;
  json["ordered"] = advice.ordered;
  json["lengths"] = LengthsJson(advice);
  json["max_sequences"] = limits.max_sequences_per_pack;
  json["alignment"] = limits.sequence_alignment;
  json["overlong"] = kOverlongNames[static_cast<int>(limits.overlong)];
  json["empty"] = kEmptyNames[static_cast<int>(limits.empty)];
  json["windows"] = advice.query.windows;
  json["capacities"] = ordered_json::array();
  for (const CapacityAdvice& capacity : advice.capacities) {
    json["capacities"].push_back(CapacityJson(advice, capacity));
  }
  ordered_json& recommended = json["recommended"];
  recommended["capacity"] = advice.recommended_capacity().capacity;
  recommended["options"] =
      SpecOptions(advice.recommended_capacity(), advice.recommended_row());
  recommended["reason"] = Reason(advice);
  json["seconds"] = advice.seconds;
  return json.dump() + "\n";
}

}  // namespace packhouse
