#include "packhouse/packed_batch.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/fill_plan.h"
#include "packhouse/policy.h"

namespace packhouse {
namespace {

// Whether the policies make a unit at this offset of such a sequence.
bool HasUnitAt(const PackSpec& spec, uint32_t length, uint32_t offset) {
  const uint32_t units = UnitCount(spec, length);
  if (units == 0) return false;
  if (units == 1) return offset == UnitOffset(spec, length, 0);
  const uint32_t step = UnitOffset(spec, length, 1);
  return offset % step == 0 && offset / step < units;
}

absl::StatusOr<std::vector<PackedUnit>> UnitsOf(
    const PackSpec& spec, const Packs& packs,
    absl::Span<const uint32_t> lengths, uint64_t first_ordinal) {
  if (absl::Status status = CheckColumns(packs); !status.ok()) return status;
  std::vector<PackedUnit> units;
  units.reserve(packs.ordinals.size());
  for (size_t pack = 0; pack < packs.size(); ++pack) {
    for (size_t i = packs.offsets[pack]; i < packs.offsets[pack + 1]; ++i) {
      const uint64_t ordinal = packs.ordinals[i];
      const uint32_t offset = packs.source_offset(i);
      if (ordinal < first_ordinal ||
          ordinal - first_ordinal >= lengths.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("pack ", pack, " holds ordinal ", ordinal,
                         ", there are lengths of ", lengths.size(),
                         " from ordinal ", first_ordinal, " on"));
      }
      const uint32_t length = lengths[ordinal - first_ordinal];
      if (absl::Status status = CheckLengths(spec, {length}, ordinal);
          !status.ok()) {
        return status;
      }
      if (!HasUnitAt(spec, length, offset)) {
        return absl::InvalidArgumentError(
            absl::StrCat("pack ", pack, " holds ordinal ", ordinal,
                         " from token ", offset, " on: of a sequence of ",
                         length, " tokens the spec makes no such unit"));
      }
      units.push_back({ordinal, offset, UnitTokens(spec, length, offset),
                       static_cast<int64_t>(pack), 0});
    }
  }
  return units;
}

// One column of the tokens of a batch, which grows unit by unit.
class Gatherer {
 public:
  Gatherer(DType dtype, int64_t tokens, std::vector<char>* memory)
      : bytes_(static_cast<size_t>(DTypeBytes(dtype))) {
    memory->resize(static_cast<size_t>(tokens) * bytes_);
    tensor_ = HostTensor(memory->data(), dtype, {tokens});
    to_ = memory->data();
  }

  void Append(const PackedUnit& unit, const void* sequence) {
    const size_t bytes = unit.tokens * bytes_;
    std::memcpy(
        to_, static_cast<const char*>(sequence) + unit.source_offset * bytes_,
        bytes);
    to_ += bytes;
  }

  const Tensor& tensor() const { return tensor_; }

 private:
  const size_t bytes_;
  Tensor tensor_;
  char* to_;
};

absl::Status CheckType(absl::string_view name, DType dtype) {
  if (dtype == DType::kUint16 || dtype == DType::kInt32 ||
      dtype == DType::kInt64) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " are of type ", DTypeName(dtype),
                   ", it must be uint16, int32 or int64"));
}

}  // namespace

absl::StatusOr<PackedBatch> PackedBatch::Make(
    const PackSpec& spec, PadMode pad_mode, const Packs& packs,
    absl::Span<const uint32_t> lengths, uint64_t first_ordinal, bool flat,
    bool positions_go_on) {
  if (absl::Status status = ValidateSpec(spec); !status.ok()) return status;
  absl::StatusOr<std::vector<PackedUnit>> units =
      UnitsOf(spec, packs, lengths, first_ordinal);
  if (!units.ok()) return units.status();
  std::vector<uint32_t> tokens;
  std::vector<uint32_t> origins;
  for (const PackedUnit& unit : *units) {
    tokens.push_back(unit.tokens);
    if (positions_go_on) origins.push_back(unit.source_offset);
  }
  LayoutSpec rows;
  rows.row_tokens = spec.capacity_tokens;
  rows.pad_mode = pad_mode;
  rows.alignment = spec.sequence_alignment;
  rows.flat = flat;
  absl::StatusOr<BatchLayout> layout =
      BatchLayout::Make(rows, tokens, packs.offsets, origins);
  if (!layout.ok()) return layout.status();
  const SegmentTable table = layout->table();
  for (int32_t s = 0; s < table.count; ++s) {
    const Segment& segment = table.segments[s];
    if (segment.is_sequence()) {
      (*units)[segment.sequences_before].begin = segment.begin;
    }
  }
  return PackedBatch(*std::move(layout), *std::move(units));
}

absl::Status PackedBatch::Gather(
    SequenceTypes types, absl::FunctionRef<SequenceData(uint64_t ordinal)> data,
    Sources* sources) {
  const int64_t count = layout_.sequence_tokens();
  Gatherer tokens(types.tokens, count, &tokens_);
  absl::optional<Gatherer> labels;
  for (size_t i = 0; i < units_.size(); ++i) {
    const PackedUnit& unit = units_[i];
    const SequenceData sequence = data(unit.ordinal);
    if (sequence.tokens == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("there are no tokens of ordinal ", unit.ordinal));
    }
    const bool has_labels = sequence.labels != nullptr;
    if (i == 0 && has_labels) labels.emplace(types.labels, count, &labels_);
    if (has_labels != labels.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("ordinal ", unit.ordinal, " has ",
                       has_labels ? "labels, those before it have none"
                                  : "no labels, those before it have"));
    }
    tokens.Append(unit, sequence.tokens);
    if (has_labels) labels->Append(unit, sequence.labels);
  }
  sources->tokens = tokens.tensor();
  if (labels.has_value()) sources->labels = labels->tensor();
  return absl::OkStatus();
}

absl::Status PackedBatch::Fill(
    const FormatOptions& options, SequenceTypes types,
    absl::FunctionRef<SequenceData(uint64_t ordinal)> data,
    absl::Span<const Output> outputs, int threads) {
  Sources sources;
  const bool reads_sources = std::any_of(
      outputs.begin(), outputs.end(),
      [](const Output& output) { return ReadsSources(output.format); });
  if (reads_sources) {
    absl::Status status = CheckType("tokens", types.tokens);
    status.Update(CheckType("labels", types.labels));
    if (!status.ok()) return status;
    // What is wrong with the outputs is said before anything is asked for.
    Sources promised;
    promised.tokens =
        Gatherer(types.tokens, layout_.sequence_tokens(), &tokens_).tensor();
    status =
        PlanFill(Side::kHost, layout_, options, promised, outputs).status();
    if (!status.ok()) return status;
    status = Gather(types, data, &sources);
    if (!status.ok()) return status;
  }
  return packhouse::Fill(layout_, options, sources, outputs, threads);
}

void PackedBatch::UnpackTokens(
    const void* values, size_t bytes_per_token,
    absl::FunctionRef<void*(const PackedUnit& unit)> destination) const {
  for (const PackedUnit& unit : units_) {
    void* const to = destination(unit);
    if (to == nullptr) continue;
    std::memcpy(to,
                static_cast<const char*>(values) +
                    static_cast<size_t>(unit.begin) * bytes_per_token,
                unit.tokens * bytes_per_token);
  }
}

void PackedBatch::UnpackToken(
    Token token, const void* values, size_t bytes_per_token,
    absl::FunctionRef<void*(const PackedUnit& unit)> destination) const {
  for (const PackedUnit& unit : units_) {
    void* const to = destination(unit);
    if (to == nullptr) continue;
    const int64_t place =
        token == Token::kFirst ? unit.begin : unit.begin + unit.tokens - 1;
    std::memcpy(to,
                static_cast<const char*>(values) +
                    static_cast<size_t>(place) * bytes_per_token,
                bytes_per_token);
  }
}

void PackedBatch::UnpackUnits(
    const void* values, size_t bytes_per_unit,
    absl::FunctionRef<void*(const PackedUnit& unit)> destination) const {
  const char* from = static_cast<const char*>(values);
  for (const PackedUnit& unit : units_) {
    void* const to = destination(unit);
    if (to != nullptr) std::memcpy(to, from, bytes_per_unit);
    from += bytes_per_unit;
  }
}

}  // namespace packhouse
