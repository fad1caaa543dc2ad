#include "session/codec/codec.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"

namespace packhouse {
namespace {

using ::google::protobuf::RepeatedField;

// The content of each request and event goes into the member of the oneof that
// it has had before, so that a message which is reused keeps its memory.

void EncodeContent(const std::monostate&, v1::PackRequest* message) {
  message->clear_content();
}

void EncodeContent(const Open& open, v1::PackRequest* message) {
  v1::Open* out = message->mutable_open();
  out->set_protocol_version(open.protocol_version);
  Encode(open.spec, out->mutable_spec());
  out->set_stream_id(open.stream_id);
  out->set_incarnation(open.incarnation);
  out->clear_resume();
  if (!open.resume.has_value()) return;
  out->mutable_resume()->set_state(open.resume->state);
  out->mutable_resume()->set_received_packs(open.resume->received_packs);
}

void EncodeContent(const Batch& batch, v1::PackRequest* message) {
  message->mutable_batch()->set_number(batch.number);
  message->mutable_batch()->mutable_lengths()->Assign(batch.lengths.begin(),
                                                      batch.lengths.end());
}

void EncodeContent(const Flush& flush, v1::PackRequest* message) {
  message->mutable_flush()->set_number(flush.number);
}

void EncodeContent(const End& end, v1::PackRequest* message) {
  message->mutable_end()->set_number(end.number);
}

void EncodeEvent(const std::monostate&, v1::PackResponse* message) {
  message->clear_event();
}

void EncodeEvent(const Opened& opened, v1::PackResponse* message) {
  v1::Opened* out = message->mutable_opened();
  out->set_protocol_version(opened.protocol_version);
  out->set_server_incarnation(opened.server_incarnation);
  out->set_max_batch_sequences(opened.max_batch_sequences);
  out->set_snapshot_sequences(opened.snapshot_sequences);
  out->set_snapshot_inputs(opened.snapshot_inputs);
}

void EncodeEvent(const PackList& list, v1::PackResponse* message) {
  Encode(list, message->mutable_packs());
}

void EncodeEvent(const Refused& refused, v1::PackResponse* message) {
  v1::Refused* out = message->mutable_refused();
  out->set_number(refused.number);
  out->set_code(static_cast<int>(refused.status.code()));
  out->set_message(std::string(refused.status.message()));
}

void EncodeEvent(const Ended& ended, v1::PackResponse* message) {
  message->mutable_ended()->set_sequences(ended.sequences);
  message->mutable_ended()->set_packs(ended.packs);
  message->mutable_ended()->set_units(ended.units);
}

void EncodeEvent(const Snapshot& snapshot, v1::PackResponse* message) {
  v1::Snapshot* out = message->mutable_snapshot();
  out->set_received_number(snapshot.received_number);
  out->set_sequences(snapshot.sequences);
  out->set_packs(snapshot.packs);
  out->set_state(snapshot.state);
}

void EncodeEvent(const Drain& drain, v1::PackResponse* message) {
  message->mutable_drain()->set_grace_seconds(drain.grace_seconds);
}

Open DecodeContent(const v1::Open& message) {
  Open open;
  open.protocol_version = message.protocol_version();
  open.spec = Decode(message.spec());
  open.stream_id = message.stream_id();
  open.incarnation = message.incarnation();
  if (message.has_resume()) {
    open.resume =
        Resume{message.resume().state(), message.resume().received_packs()};
  }
  return open;
}

Opened DecodeEvent(const v1::Opened& message) {
  Opened opened;
  opened.protocol_version = message.protocol_version();
  opened.server_incarnation = message.server_incarnation();
  opened.max_batch_sequences = message.max_batch_sequences();
  opened.snapshot_sequences = message.snapshot_sequences();
  opened.snapshot_inputs = message.snapshot_inputs();
  return opened;
}

absl::Status DecodeEvent(const v1::Refused& message, Refused* refused) {
  const int code = message.code();
  if (code < static_cast<int>(absl::StatusCode::kCancelled) ||
      code > static_cast<int>(absl::StatusCode::kUnauthenticated)) {
    return absl::InternalError(absl::StrCat("batch ", message.number(),
                                            " was refused with code ", code,
                                            ", which is not an error code"));
  }
  refused->number = message.number();
  refused->status =
      absl::Status(static_cast<absl::StatusCode>(code), message.message());
  return absl::OkStatus();
}

// The enums of the contract have 0 for "unspecified", which leaves a field at
// its default, and then the values of ours in the same order. A value that this
// build does not know, which `is_known` tells, arrives at ValidateSpec as it
// is: there it is none of ours either.
template <typename Message, typename Ours>
Message EncodeChoice(Ours ours) {
  return static_cast<Message>(static_cast<int>(ours) + 1);
}
template <typename Message, typename Ours>
void DecodeChoice(Message message, bool (*is_known)(int), Ours* ours) {
  const int value = static_cast<int>(message);
  if (value == 0) return;
  *ours = static_cast<Ours>(is_known(value) ? value - 1 : value);
}

// The alternative T of `event`, with the memory it had if it was one before.
template <typename T>
T* Alternative(Event* event) {
  if (T* held = std::get_if<T>(event)) return held;
  return &event->emplace<T>();
}

// `size` entries whose values are to be written.
uint32_t* Resize(RepeatedField<uint32_t>* field, size_t size) {
  const int entries = static_cast<int>(size);
  field->Clear();
  field->Reserve(entries);
  return field->AddNAlreadyReserved(entries);
}

}  // namespace

void Encode(const PackSpec& spec, v1::Spec* message) {
  message->set_capacity_tokens(spec.capacity_tokens);
  message->set_algorithm(spec.algorithm);
  message->set_window_sequences(spec.window_sequences);
  message->set_max_sequences_per_pack(spec.max_sequences_per_pack);
  message->set_sequence_alignment(spec.sequence_alignment);
  message->set_overlong(EncodeChoice<v1::Overlong>(spec.overlong));
  message->set_empty(EncodeChoice<v1::Empty>(spec.empty));
  message->clear_seed();
  if (spec.seed.has_value()) message->set_seed(*spec.seed);
  message->set_effort(EncodeChoice<v1::Effort>(spec.effort));
  message->set_max_displacement(spec.max_displacement);
  message->set_budget_seconds(spec.budget_seconds);
}

PackSpec Decode(const v1::Spec& message) {
  PackSpec spec;
  spec.capacity_tokens = message.capacity_tokens();
  if (!message.algorithm().empty()) spec.algorithm = message.algorithm();
  if (message.has_window_sequences()) {
    spec.window_sequences = message.window_sequences();
  }
  spec.max_sequences_per_pack = message.max_sequences_per_pack();
  if (message.has_sequence_alignment()) {
    spec.sequence_alignment = message.sequence_alignment();
  }
  DecodeChoice(message.overlong(), &v1::Overlong_IsValid, &spec.overlong);
  DecodeChoice(message.empty(), &v1::Empty_IsValid, &spec.empty);
  if (message.has_seed()) spec.seed = message.seed();
  DecodeChoice(message.effort(), &v1::Effort_IsValid, &spec.effort);
  spec.max_displacement = message.max_displacement();
  spec.budget_seconds = message.budget_seconds();
  return spec;
}

void Encode(const Request& request, v1::PackRequest* message) {
  std::visit(
      [message](const auto& content) { EncodeContent(content, message); },
      request);
}

Request Decode(const v1::PackRequest& message) {
  switch (message.content_case()) {
    case v1::PackRequest::kOpen:
      return DecodeContent(message.open());
    case v1::PackRequest::kBatch:
      return Batch{
          message.batch().number(),
          {message.batch().lengths().begin(), message.batch().lengths().end()}};
    case v1::PackRequest::kFlush:
      return Flush{message.flush().number()};
    case v1::PackRequest::kEnd:
      return End{message.end().number()};
    case v1::PackRequest::CONTENT_NOT_SET:
      break;
  }
  return std::monostate();
}

void Encode(const Response& response, v1::PackResponse* message) {
  std::visit([message](const auto& event) { EncodeEvent(event, message); },
             response.event);
  if (!response.credit.has_value()) {
    message->clear_credit();
    return;
  }
  v1::Credit* credit = message->mutable_credit();
  credit->set_received_number(response.credit->received_number);
  credit->set_max_number(response.credit->max_number);
  credit->set_max_sequences(response.credit->max_sequences);
}

absl::Status Decode(const v1::PackResponse& message, Response* response) {
  response->credit.reset();
  if (message.has_credit()) {
    const v1::Credit& credit = message.credit();
    response->credit = Credit{credit.received_number(), credit.max_number(),
                              credit.max_sequences()};
  }
  switch (message.event_case()) {
    case v1::PackResponse::kOpened:
      response->event = DecodeEvent(message.opened());
      return absl::OkStatus();
    case v1::PackResponse::kPacks:
      return Decode(message.packs(), Alternative<PackList>(&response->event));
    case v1::PackResponse::kRefused:
      return DecodeEvent(message.refused(),
                         Alternative<Refused>(&response->event));
    case v1::PackResponse::kEnded:
      response->event = Ended{message.ended().sequences(),
                              message.ended().packs(), message.ended().units()};
      return absl::OkStatus();
    case v1::PackResponse::kSnapshot:
      response->event = Snapshot{
          message.snapshot().received_number(), message.snapshot().sequences(),
          message.snapshot().packs(), message.snapshot().state()};
      return absl::OkStatus();
    case v1::PackResponse::kDrain:
      response->event = Drain{message.drain().grace_seconds()};
      return absl::OkStatus();
    case v1::PackResponse::EVENT_NOT_SET:
      break;
  }
  response->event = std::monostate();
  return absl::OkStatus();
}

void Encode(const PackList& list, v1::PackList* message) {
  const Packs& packs = list.packs;
  // Ordinals ascend in a pack, so the smallest of all is a first one.
  uint64_t base = packs.empty() ? 0 : packs[0].front();
  uint32_t* sizes = Resize(message->mutable_sizes(), packs.size());
  for (size_t i = 0; i < packs.size(); ++i) {
    base = std::min(base, packs[i].front());
    sizes[i] = static_cast<uint32_t>(packs[i].size());
  }
  uint32_t* ordinals =
      Resize(message->mutable_ordinals(), packs.ordinals.size());
  for (size_t i = 0; i < packs.ordinals.size(); ++i) {
    ordinals[i] = static_cast<uint32_t>(packs.ordinals[i] - base);
  }
  uint32_t* source_offsets =
      Resize(message->mutable_source_offsets(), packs.source_offsets.size());
  std::copy(packs.source_offsets.begin(), packs.source_offsets.end(),
            source_offsets);
  message->set_first_number(list.first_number);
  message->set_base_ordinal(base);
}

absl::Status Decode(const v1::PackList& message, PackList* list) {
  const RepeatedField<uint32_t>& sizes = message.sizes();
  const RepeatedField<uint32_t>& ordinals = message.ordinals();
  const uint64_t sum = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
  if (sum != static_cast<uint64_t>(ordinals.size())) {
    return absl::InternalError(absl::StrCat("a list of packs has sizes for ",
                                            sum, " units and ", ordinals.size(),
                                            " ordinals"));
  }
  const auto empty = std::find(sizes.begin(), sizes.end(), 0u);
  if (empty != sizes.end()) {
    return absl::InternalError(
        absl::StrCat("pack ", empty - sizes.begin(), " of a list has no unit"));
  }
  const RepeatedField<uint32_t>& source_offsets = message.source_offsets();
  if (!source_offsets.empty() && source_offsets.size() != ordinals.size()) {
    return absl::InternalError(
        absl::StrCat("a list of packs has ", source_offsets.size(),
                     " source offsets and ", ordinals.size(), " ordinals"));
  }
  const uint64_t base = message.base_ordinal();
  const uint64_t base_max = std::numeric_limits<uint64_t>::max() -
                            std::numeric_limits<uint32_t>::max();
  if (base > base_max) {
    return absl::InternalError(absl::StrCat("a list of packs has base_ordinal ",
                                            base, ", the limit is ", base_max));
  }
  list->first_number = message.first_number();
  Packs& packs = list->packs;
  packs.offsets.resize(sizes.size() + 1);
  packs.offsets[0] = 0;
  for (int i = 0; i < sizes.size(); ++i) {
    packs.offsets[i + 1] = packs.offsets[i] + sizes[i];
  }
  packs.ordinals.resize(ordinals.size());
  std::transform(ordinals.begin(), ordinals.end(), packs.ordinals.begin(),
                 [base](uint32_t relative) { return base + relative; });
  packs.source_offsets.assign(source_offsets.begin(), source_offsets.end());
  return absl::OkStatus();
}

}  // namespace packhouse
