#include "session/codec/codec.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/session/session_testing.h"

namespace packhouse {

// Equality of the messages, for these tests.
bool operator==(const Resume& a, const Resume& b) {
  return a.state == b.state && a.received_packs == b.received_packs;
}
bool operator==(const Open& a, const Open& b) {
  return a.protocol_version == b.protocol_version && a.spec == b.spec &&
         a.stream_id == b.stream_id && a.incarnation == b.incarnation &&
         a.resume == b.resume;
}
bool operator==(const Batch& a, const Batch& b) {
  return a.number == b.number && a.lengths == b.lengths;
}
bool operator==(const Flush& a, const Flush& b) { return a.number == b.number; }
bool operator==(const End& a, const End& b) { return a.number == b.number; }
bool operator==(const Credit& a, const Credit& b) {
  return a.received_number == b.received_number &&
         a.max_number == b.max_number && a.max_sequences == b.max_sequences;
}
bool operator==(const Opened& a, const Opened& b) {
  return a.protocol_version == b.protocol_version &&
         a.server_incarnation == b.server_incarnation &&
         a.max_batch_sequences == b.max_batch_sequences &&
         a.snapshot_sequences == b.snapshot_sequences &&
         a.snapshot_inputs == b.snapshot_inputs;
}
bool operator==(const PackList& a, const PackList& b) {
  return a.first_number == b.first_number && a.packs == b.packs;
}
bool operator==(const Refused& a, const Refused& b) {
  return a.number == b.number && a.status == b.status;
}
bool operator==(const Ended& a, const Ended& b) {
  return a.sequences == b.sequences && a.packs == b.packs && a.units == b.units;
}
bool operator==(const Snapshot& a, const Snapshot& b) {
  return a.received_number == b.received_number && a.sequences == b.sequences &&
         a.packs == b.packs && a.state == b.state;
}
bool operator==(const Drain& a, const Drain& b) {
  return a.grace_seconds == b.grace_seconds;
}
bool operator==(const Response& a, const Response& b) {
  return a.event == b.event && a.credit == b.credit;
}

namespace {

constexpr uint64_t kMax64 = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kMax32 = std::numeric_limits<uint32_t>::max();

PackSpec FullSpec() {
  PackSpec spec;
  spec.capacity_tokens = kMaxCapacityTokens;
  spec.algorithm = "lpfhp";
  spec.window_sequences = 77;
  spec.max_sequences_per_pack = 5;
  spec.sequence_alignment = 16;
  spec.overlong = Overlong::kTruncateHead;
  spec.empty = Empty::kDrop;
  spec.seed = 0;  // which is a seed
  spec.effort = Effort::kThorough;
  spec.max_displacement = kMaxDisplacementSequences;
  spec.budget_seconds = 0.25;
  return spec;
}

// Values that ValidateSpec refuses arrive as they are, so that it names them.
PackSpec WrongSpec() {
  PackSpec spec;
  spec.capacity_tokens = -1;
  spec.algorithm = "no such rule";
  spec.window_sequences = 0;
  spec.max_sequences_per_pack = std::numeric_limits<int64_t>::min();
  spec.sequence_alignment = 0;
  spec.max_displacement = -1;
  spec.budget_seconds = -1;
  return spec;
}

Packs WithOffsets(Packs packs, std::vector<uint32_t> source_offsets) {
  packs.source_offsets = std::move(source_offsets);
  return packs;
}

std::vector<Request> Requests() {
  return {
      std::monostate(),
      Open{kProtocolVersion, FullSpec(), "a stream", kMax64, absl::nullopt},
      Open{0, WrongSpec(), "", 0, Resume{}},
      Open{kMax32, PackSpec(), "", 1, Resume{std::string("\0\xff", 2), kMax64}},
      Batch{1, {1, 2, 3, 0, kMax32}},
      Batch{kMax64, {}},
      Flush{2},
      End{3},
  };
}

std::vector<Response> Responses() {
  const Credit credit = {1, kMax64, 3};
  std::vector<Response> responses = {
      {std::monostate(), absl::nullopt},
      {Opened{1, kMax64, 65536, kMax64 - 1, 7}, credit},
      {PackList{1, MakePacks({{0}})}, absl::nullopt},
      {PackList{9, MakePacks({{7, 9}, {5, 6, 8}, {3}})}, credit},
      // Far into a stream, and as far apart as ordinals can be.
      {PackList{kMax64, MakePacks({{kMax64 - kMax32, kMax64}})}, credit},
      {PackList{1, WithOffsets(MakePacks({{4, 4}, {4}}), {0, 7, kMax32})},
       credit},
      {PackList{1, Packs()}, absl::nullopt},
      {Ended{5, 2, 9}, credit},
      {Ended{0, 0, 0}, Credit{}},
      {Snapshot{kMax64, 1, 2, std::string("\0\xff", 2)}, credit},
      {Snapshot{}, absl::nullopt},
      {Drain{0.5}, credit},
      {std::monostate(), credit},
  };
  for (int code = 1; code <= 16; ++code) {
    Response& refused = responses.emplace_back();
    refused.event =
        Refused{4, absl::Status(static_cast<absl::StatusCode>(code), "no")};
    refused.credit = credit;
  }
  return responses;
}

// Through the wire format, so that nothing hides in the message object.
template <typename Message>
Message Sent(const Message& message) {
  Message received;
  EXPECT_TRUE(received.ParseFromString(message.SerializeAsString()));
  return received;
}

TEST(CodecTest, UnknownChoicesKeepTheirNumber) {
  for (const int number : {-1, 6, 9}) {
    v1::Spec message;
    message.set_capacity_tokens(8);
    message.set_overlong(static_cast<v1::Overlong>(number));
    message.set_empty(static_cast<v1::Empty>(number));
    message.set_effort(static_cast<v1::Effort>(number));
    const std::string text(ValidateSpec(Decode(message)).message());
    for (const char* field : {"overlong", "empty", "effort"}) {
      EXPECT_THAT(
          text, testing::HasSubstr(absl::StrCat(field, " is number ", number)));
    }
  }
}

TEST(CodecTest, RequestsComeBackAsTheyWere) {
  for (const Request& request : Requests()) {
    v1::PackRequest message;
    Encode(request, &message);
    EXPECT_TRUE(Decode(Sent(message)) == request) << message.ShortDebugString();
  }
}

TEST(CodecTest, ResponsesComeBackAsTheyWere) {
  for (const Response& response : Responses()) {
    v1::PackResponse message;
    Encode(response, &message);
    Response decoded;
    ASSERT_THAT(Decode(Sent(message), &decoded), IsOk());
    EXPECT_TRUE(decoded == response) << message.ShortDebugString();
  }
}

// Messages and structs that are used again hold nothing of what they held.
TEST(CodecTest, WhatIsFilledIsReplaced) {
  v1::PackRequest request_message;
  for (const Request& first : Requests()) {
    for (const Request& second : Requests()) {
      Encode(first, &request_message);
      Encode(second, &request_message);
      EXPECT_TRUE(Decode(request_message) == second)
          << request_message.ShortDebugString();
    }
  }
  v1::PackResponse response_message;
  Response decoded;
  for (const Response& first : Responses()) {
    for (const Response& second : Responses()) {
      Encode(first, &response_message);
      ASSERT_THAT(Decode(response_message, &decoded), IsOk());
      Encode(second, &response_message);
      ASSERT_THAT(Decode(response_message, &decoded), IsOk());
      EXPECT_TRUE(decoded == second) << response_message.ShortDebugString();
    }
  }
  const PackSpec defaults;
  v1::Spec spec_message;
  Encode(FullSpec(), &spec_message);
  Encode(defaults, &spec_message);
  EXPECT_EQ(Decode(spec_message), defaults);
}

TEST(CodecTest, UnsetFieldsOfASpecAreTheDefaults) {
  PackSpec expected;
  EXPECT_EQ(Decode(v1::Spec()), expected);

  v1::Spec message;
  message.set_capacity_tokens(512);
  expected.capacity_tokens = 512;
  EXPECT_EQ(Decode(message), expected);

  // 0 is a value, not a default.
  message.set_window_sequences(0);
  message.set_sequence_alignment(0);
  expected.window_sequences = 0;
  expected.sequence_alignment = 0;
  EXPECT_EQ(Decode(message), expected);

  v1::PackRequest open;
  open.mutable_open();
  EXPECT_TRUE(Decode(open) ==
              Request(Open{0, PackSpec(), "", 0, absl::nullopt}));
}

TEST(CodecTest, OrdinalsTravelAsSmallNumbers) {
  const PackList list = {1, MakePacks({{1000007, 1000009}, {1000005}})};
  v1::PackList message;
  Encode(list, &message);
  EXPECT_EQ(message.base_ordinal(), 1000005u);
  EXPECT_THAT(message.sizes(), testing::ElementsAre(2, 1));
  EXPECT_THAT(message.ordinals(), testing::ElementsAre(2, 4, 0));
}

TEST(CodecTest, MalformedPackListsAreRefused) {
  struct Row {
    std::vector<uint32_t> sizes;
    std::vector<uint32_t> ordinals;
    uint64_t base_ordinal;
    std::string part;
  };
  const std::vector<Row> rows = {
      {{1}, {}, 0, "sizes for 1 units and 0 ordinals"},
      {{}, {1, 2}, 0, "sizes for 0 units and 2 ordinals"},
      {{2, 1}, {1, 2}, 0, "sizes for 3 units and 2 ordinals"},
      {{2, 1}, {1, 2, 3, 4}, 0, "sizes for 3 units and 4 ordinals"},
      {{kMax32, 3}, {1, 2}, 0, "sizes for 4294967298 units"},
      {{kMax32, kMax32}, {1}, 0, "sizes for 8589934590 units"},
      {{1, 0, 1}, {1, 2}, 0, "pack 1 of a list has no unit"},
      {{0}, {}, 0, "pack 0 of a list has no unit"},
      {{1}, {0}, kMax64, "base_ordinal 18446744073709551615"},
      {{1}, {0}, kMax64 - kMax32 + 1, "base_ordinal"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.part);
    v1::PackResponse message;
    v1::PackList* list = message.mutable_packs();
    list->set_first_number(1);
    list->set_base_ordinal(row.base_ordinal);
    list->mutable_sizes()->Assign(row.sizes.begin(), row.sizes.end());
    list->mutable_ordinals()->Assign(row.ordinals.begin(), row.ordinals.end());

    Response response;
    EXPECT_THAT(Decode(Sent(message), &response),
                StatusIs(absl::StatusCode::kInternal, Mentions({row.part})));
    PackList decoded;
    EXPECT_THAT(Decode(*list, &decoded),
                StatusIs(absl::StatusCode::kInternal, Mentions({row.part})));
  }
}

TEST(CodecTest, SourceOffsetsStandBesideOrdinals) {
  v1::PackList message;
  Encode(PackList{1, MakePacks({{0, 1}})}, &message);
  EXPECT_TRUE(message.source_offsets().empty());
  message.add_source_offsets(3);
  PackList decoded;
  EXPECT_THAT(Decode(message, &decoded),
              StatusIs(absl::StatusCode::kInternal,
                       Mentions({"1 source offsets and 2 ordinals"})));
}

TEST(CodecTest, RefusalsNeedAnErrorCode) {
  for (const int code : {0, -1, 17, std::numeric_limits<int>::max(),
                         std::numeric_limits<int>::min()}) {
    v1::PackResponse message;
    message.mutable_refused()->set_number(4);
    message.mutable_refused()->set_code(code);
    Response response;
    EXPECT_THAT(Decode(Sent(message), &response),
                StatusIs(absl::StatusCode::kInternal,
                         Mentions({"batch 4", std::to_string(code)})));
  }
}

// What messages.h promises of the largest messages.
TEST(CodecTest, TheLargestMessagesAreUnderTheLimit) {
  const auto apart = [](uint64_t sequences, uint64_t spread) {
    std::vector<uint64_t> ordinals;
    for (uint64_t i = 0; i < sequences; ++i) {
      ordinals.push_back(i + (i > 0 ? spread : 0));
    }
    return ordinals;
  };
  constexpr uint64_t kFar = uint64_t{1} << 31;  // 5 bytes each
  v1::PackRequest batch;
  Encode(Batch{kMax64, std::vector<uint32_t>(kMaxBatchSequences, kMax32)},
         &batch);
  EXPECT_LT(batch.ByteSizeLong(), kMaxMessageBytes);

  // One pack of the largest window there may be.
  v1::PackResponse one;
  Encode(
      {PackList{kMax64,
                WithOffsets(
                    MakePacks({apart(kMaxStreamWindowSequences, kFar)}),
                    std::vector<uint32_t>(kMaxStreamWindowSequences, kMax32))},
       Credit{kMax64, kMax64, kMax64}},
      &one);
  EXPECT_LT(one.ByteSizeLong(), kMaxMessageBytes);

  v1::PlanRequest plan;
  Encode(FullSpec(), plan.mutable_spec());
  plan.mutable_lengths()->Resize(kMaxPlanSequences, kMax32);
  EXPECT_LT(plan.ByteSizeLong(), kMaxMessageBytes);

  // Each in a pack of its own: a size, an ordinal and an offset.
  Packs packs;
  packs.ordinals = apart(kMaxPlanSequences, kFar);
  for (uint64_t i = 1; i <= kMaxPlanSequences; ++i) packs.offsets.push_back(i);
  packs.source_offsets.assign(kMaxPlanSequences, kMax32);
  v1::PlanResponse answer;
  Encode(PackList{kMax64, packs}, answer.mutable_packs());
  EXPECT_LT(answer.ByteSizeLong(), kMaxMessageBytes);
}

}  // namespace
}  // namespace packhouse
