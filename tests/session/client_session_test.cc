#include "session/client_session.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/session/session_testing.h"

namespace packhouse {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Credit kPlenty = {0, 1000, 1000000};

Response OpenedWith(uint32_t max_batch_sequences, const Credit& credit) {
  return {Opened{kProtocolVersion, 1, max_batch_sequences, 0, 0}, credit};
}

Response CreditOf(uint64_t received_number, const Credit& rest = kPlenty) {
  return {std::monostate(),
          Credit{received_number, rest.max_number, rest.max_sequences}};
}

Response PacksFrom(uint64_t first_number,
                   const std::vector<std::vector<uint64_t>>& lists) {
  return {PackList{first_number, MakePacks(lists)}, absl::nullopt};
}

// A request as a short text: "open", "1:3,5" (batch 1 of lengths 3 and 5),
// "2:flush", "3:end".
std::string Text(const Request& request) {
  if (std::holds_alternative<Open>(request)) return "open";
  if (const auto* batch = std::get_if<Batch>(&request)) {
    std::string text = std::to_string(batch->number);
    char separator = ':';
    for (const uint32_t length : batch->lengths) {
      text += separator + std::to_string(length);
      separator = ',';
    }
    return text;
  }
  if (const auto* flush = std::get_if<Flush>(&request)) {
    return std::to_string(flush->number) + ":flush";
  }
  if (const auto* end = std::get_if<End>(&request)) {
    return std::to_string(end->number) + ":end";
  }
  return "nothing";
}

// All requests that may be sent now.
std::vector<std::string> Send(ClientSession* client) {
  std::vector<std::string> texts;
  while (absl::optional<Request> request = client->NextRequest()) {
    texts.push_back(Text(*request));
  }
  return texts;
}

// A client of a stream with capacity 10 that is open, with plenty of credit.
ClientSession OpenClient(uint32_t batch_sequences) {
  ClientSession client(MakeSpec(10, 4), batch_sequences, "");
  EXPECT_THAT(Send(&client), ElementsAre("open"));
  EXPECT_THAT(client.Receive(OpenedWith(kMaxBatchSequences, kPlenty)), IsOk());
  return client;
}

TEST(ClientSessionTest, SendsOnlyOpenUntilItIsOpened) {
  const PackSpec spec = MakeSpec(10, 4);
  ClientSession client(spec, 2, "");
  EXPECT_THAT(client.Add({1, 2, 3}), IsOk());
  EXPECT_THAT(client.Flush(), IsOk());
  absl::optional<Request> request = client.NextRequest();
  ASSERT_TRUE(request.has_value());
  const Open* open = std::get_if<Open>(&*request);
  ASSERT_NE(open, nullptr);
  EXPECT_EQ(open->protocol_version, kProtocolVersion);
  EXPECT_EQ(open->spec, spec);
  EXPECT_THAT(Send(&client), IsEmpty());
  EXPECT_FALSE(client.opened());
  EXPECT_EQ(client.unsent_sequences(), 3u);

  EXPECT_THAT(client.Receive(OpenedWith(2, kPlenty)), IsOk());
  EXPECT_TRUE(client.opened());
  EXPECT_THAT(Send(&client), ElementsAre("1:1,2", "2:3", "3:flush"));
  EXPECT_EQ(client.unsent_sequences(), 0u);
}

TEST(ClientSessionTest, GathersLengthsIntoBatches) {
  ClientSession client = OpenClient(3);
  EXPECT_THAT(client.Add({1, 2}), IsOk());
  EXPECT_THAT(Send(&client), IsEmpty());
  EXPECT_THAT(client.Add({}), IsOk());
  EXPECT_THAT(client.Add({3, 4, 5, 6, 7}), IsOk());
  EXPECT_EQ(client.unsent_sequences(), 7u);
  EXPECT_THAT(Send(&client), ElementsAre("1:1,2,3", "2:4,5,6"));
  EXPECT_EQ(client.unsent_sequences(), 1u);
  client.Push();
  client.Push();
  EXPECT_THAT(Send(&client), ElementsAre("3:7"));
  EXPECT_THAT(client.Add({8}), IsOk());
  EXPECT_THAT(client.Flush(), IsOk());
  EXPECT_THAT(client.Add({9}), IsOk());
  client.End();
  EXPECT_THAT(Send(&client), ElementsAre("4:8", "5:flush", "6:9", "7:end"));
}

TEST(ClientSessionTest, CutsBatchesToWhatTheServerAllows) {
  ClientSession client(MakeSpec(10, 4), 5, "");
  EXPECT_THAT(Send(&client), ElementsAre("open"));
  // Given before the limit is known: pushed ones, some with a flush behind
  // them, and some that are still being gathered.
  EXPECT_THAT(client.Add({1, 2, 3, 4, 5, 6}), IsOk());
  client.Push();
  EXPECT_THAT(client.Add({7, 8, 9}), IsOk());
  EXPECT_THAT(client.Flush(), IsOk());
  EXPECT_THAT(client.Add({1, 2, 3, 4}), IsOk());
  EXPECT_THAT(client.Receive(OpenedWith(2, kPlenty)), IsOk());
  EXPECT_EQ(client.unsent_sequences(), 13u);
  EXPECT_THAT(Send(&client), ElementsAre("1:1,2", "2:3,4", "3:5,6", "4:7,8",
                                         "5:9", "6:flush", "7:1,2", "8:3,4"));
  EXPECT_THAT(client.Add({5, 6, 7}), IsOk());
  EXPECT_THAT(Send(&client), ElementsAre("9:5,6"));
}

TEST(ClientSessionTest, KeepsToTheCreditForInputs) {
  ClientSession client(MakeSpec(10, 4), 1, "");
  EXPECT_THAT(client.Add({1, 2}), IsOk());
  EXPECT_THAT(client.Flush(), IsOk());
  client.End();
  EXPECT_THAT(Send(&client), ElementsAre("open"));
  EXPECT_THAT(client.Receive(OpenedWith(10, {0, 1, 100})), IsOk());
  EXPECT_THAT(Send(&client), ElementsAre("1:1"));
  EXPECT_THAT(client.Receive(CreditOf(1, {1, 3, 100})), IsOk());
  EXPECT_THAT(Send(&client), ElementsAre("2:2", "3:flush"));
  EXPECT_THAT(client.Receive(CreditOf(2, {2, 3, 100})), IsOk());
  EXPECT_THAT(Send(&client), IsEmpty());
  EXPECT_THAT(client.Receive(CreditOf(3, {3, 4, 100})), IsOk());
  EXPECT_THAT(Send(&client), ElementsAre("4:end"));
}

TEST(ClientSessionTest, KeepsToTheCreditForSequences) {
  ClientSession client(MakeSpec(10, 4), 2, "");
  EXPECT_THAT(client.Add({1, 2, 3, 4, 5}), IsOk());
  client.Push();
  EXPECT_THAT(Send(&client), ElementsAre("open"));
  EXPECT_THAT(client.Receive(OpenedWith(2, {0, 100, 3})), IsOk());
  EXPECT_THAT(Send(&client), ElementsAre("1:1,2"));
  EXPECT_THAT(client.Receive(CreditOf(1, {1, 100, 4})), IsOk());
  EXPECT_THAT(Send(&client), ElementsAre("2:3,4"));
  // A flush has no sequence, but it does not overtake.
  EXPECT_THAT(client.Flush(), IsOk());
  EXPECT_THAT(Send(&client), IsEmpty());
  EXPECT_THAT(client.Receive(CreditOf(2, {2, 100, 5})), IsOk());
  EXPECT_THAT(Send(&client), ElementsAre("3:5", "4:flush"));
}

TEST(ClientSessionTest, ABadLengthChangesNothing) {
  ClientSession client = OpenClient(3);
  EXPECT_THAT(client.Add({1, 2}), IsOk());
  EXPECT_THAT(client.Add({3, 11, 4}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Mentions({"3", "11", "10"})));  // ordinal, length, limit
  EXPECT_THAT(client.Add({0}),
              StatusIs(absl::StatusCode::kInvalidArgument, Mentions({"2"})));
  EXPECT_EQ(client.unsent_sequences(), 2u);
  EXPECT_THAT(client.Add({5}), IsOk());
  EXPECT_THAT(Send(&client), ElementsAre("1:1,2,5"));
}

TEST(ClientSessionTest, NothingIsGivenAfterTheEnd) {
  ClientSession client = OpenClient(3);
  client.End();
  client.End();
  EXPECT_THAT(client.Add({1}), StatusIs(absl::StatusCode::kFailedPrecondition,
                                        Mentions({"end"})));
  EXPECT_THAT(client.Flush(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                       Mentions({"end"})));
  client.Push();
  EXPECT_THAT(Send(&client), ElementsAre("1:end"));
}

TEST(ClientSessionTest, HandsOutPacksOnceAndInOrder) {
  ClientSession client = OpenClient(8);
  EXPECT_THAT(client.Add({5, 5, 5, 5, 5, 5}), IsOk());
  client.Push();
  Send(&client);
  EXPECT_TRUE(client.Take().empty());
  EXPECT_THAT(client.Receive(PacksFrom(1, {{1, 2}, {0, 4}})), IsOk());
  EXPECT_THAT(client.Receive(PacksFrom(3, {{3}})), IsOk());
  EXPECT_EQ(client.Take(), MakePacks({{1, 2}, {0, 4}, {3}}));
  EXPECT_TRUE(client.Take().empty());
  EXPECT_THAT(client.Receive(PacksFrom(4, {{5}})), IsOk());
  EXPECT_EQ(client.Take(), MakePacks({{5}}));
}

TEST(ClientSessionTest, IsSettledWhenEverythingIsAnswered) {
  ClientSession client(MakeSpec(10, 4), 2, "");
  EXPECT_FALSE(client.settled());  // `opened` is to come
  EXPECT_THAT(Send(&client), ElementsAre("open"));
  EXPECT_FALSE(client.settled());
  EXPECT_THAT(client.Receive(OpenedWith(2, kPlenty)), IsOk());
  EXPECT_TRUE(client.settled());

  EXPECT_THAT(client.Add({1}), IsOk());
  EXPECT_TRUE(client.settled());  // no input was made of it yet
  client.Push();
  EXPECT_FALSE(client.settled());
  Send(&client);
  EXPECT_FALSE(client.settled());
  EXPECT_THAT(client.Receive(CreditOf(1)), IsOk());
  EXPECT_TRUE(client.settled());

  EXPECT_THAT(client.Add({2, 3, 4}), IsOk());
  EXPECT_THAT(client.Flush(), IsOk());
  EXPECT_THAT(Send(&client), ElementsAre("2:2,3", "3:4", "4:flush"));
  EXPECT_THAT(client.Receive(CreditOf(3)), IsOk());
  EXPECT_FALSE(client.settled());
  EXPECT_THAT(client.Receive(PacksFrom(1, {{0, 1, 2, 3}})), IsOk());
  EXPECT_FALSE(client.settled());
  EXPECT_THAT(client.Receive(CreditOf(4)), IsOk());
  EXPECT_TRUE(client.settled());

  client.End();
  EXPECT_FALSE(client.settled());
  EXPECT_THAT(Send(&client), ElementsAre("5:end"));
  EXPECT_THAT(client.Receive(CreditOf(5)), IsOk());
  EXPECT_FALSE(client.settled());  // `ended` is to come
  EXPECT_FALSE(client.ended());
  EXPECT_THAT(client.Receive({Ended{4, 1, 4}, absl::nullopt}), IsOk());
  EXPECT_TRUE(client.settled());
  EXPECT_TRUE(client.ended());
}

TEST(ClientSessionTest, ARefusalIsFinal) {
  ClientSession client = OpenClient(2);
  EXPECT_THAT(client.Add({1, 2, 3, 4}), IsOk());
  EXPECT_THAT(Send(&client), ElementsAre("1:1,2", "2:3,4"));
  EXPECT_THAT(client.Receive(CreditOf(1)), IsOk());
  EXPECT_THAT(client.Add({5, 6}), IsOk());
  const absl::Status refusal = absl::InvalidArgumentError("too long by half");
  EXPECT_EQ(client.Receive({Refused{2, refusal}, CreditOf(2).credit}), refusal);
  EXPECT_EQ(client.Receive(CreditOf(2)), refusal);
  EXPECT_THAT(Send(&client), IsEmpty());
}

// Every row is a server that breaks the protocol with its last response. The
// client has sent 1:1,2 2:3,4 3:flush, of five sequences given.
TEST(ClientSessionTest, NothingThatTheServerSaysIsBelieved) {
  struct Row {
    std::vector<Response> responses;
    std::string part;
  };
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  const Response opened = OpenedWith(2, kPlenty);
  const Response ended = {Ended{5, 1, 5}, absl::nullopt};
  const auto refused = [](uint64_t number, absl::Status status) {
    return Response{Refused{number, std::move(status)}, absl::nullopt};
  };
  const std::vector<Row> rows = {
      {{opened}, "an `opened`"},
      // Pack numbers.
      {{PacksFrom(0, {{0}})}, "pack 0 came, 1 was expected"},
      {{PacksFrom(2, {{0}})}, "pack 2 came, 1 was expected"},
      {{PacksFrom(1, {{0}, {1}}), PacksFrom(2, {{2}})},
       "pack 2 came, 3 was expected"},
      {{PacksFrom(1, {{0}, {1}}), PacksFrom(4, {{2}})},
       "pack 4 came, 3 was expected"},
      // Ordinals.
      {{PacksFrom(1, {{4}})}, "pack 1 has ordinal 4, only 4 sequences"},
      {{PacksFrom(1, {{0, 1}, {2, kMax}})}, "pack 2 has ordinal 1844674407"},
      {{PacksFrom(1, {{0, kMax, 1}})}, "pack 1 has ordinal 1844674407"},
      {{PacksFrom(1, {{2, 1}})}, "ordinal 1 behind 2"},
      {{PacksFrom(1, {{1, 1}})}, "ordinal 1 behind 1"},
      {{PacksFrom(1, {{0, 1}, {1, 2}})}, "pack 2 has ordinal 1, which an"},
      {{PacksFrom(1, {{3}}), PacksFrom(2, {{0, 3}})},
       "pack 2 has ordinal 3, which an"},
      {{PacksFrom(1, {{0}, {}})}, "pack 2 is empty"},
      // Credit.
      {{CreditOf(4)}, "received input 4, only 3"},
      {{CreditOf(2), CreditOf(1)}, "credit shrank"},
      {{CreditOf(0, {0, 999, 1000000})}, "credit shrank"},
      {{CreditOf(0, {0, 1000, 999999})}, "credit shrank"},
      {{{PackList{1, MakePacks({{0}})}, Credit{4, 1000, 1000000}}},
       "received input 4"},
      // Refusals.
      {{refused(0, absl::InternalError("x"))}, "refused batch 0"},
      {{refused(4, absl::InternalError("x"))}, "refused batch 4"},
      {{CreditOf(2), refused(2, absl::InternalError("x"))},
       "refused batch 2, unanswered are inputs 3 to 3"},
      {{refused(1, absl::OkStatus())}, "batch 1 with code OK"},
      // The end was not asked for.
      {{PacksFrom(1, {{0, 1, 2, 3}}), CreditOf(3), ended}, "without an `end`"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.part);
    ClientSession client(MakeSpec(10, 4), 2, "");
    EXPECT_THAT(client.Add({1, 2, 3, 4}), IsOk());
    EXPECT_THAT(client.Flush(), IsOk());
    EXPECT_THAT(client.Add({5}), IsOk());
    EXPECT_THAT(Send(&client), ElementsAre("open"));
    EXPECT_THAT(client.Receive(opened), IsOk());
    EXPECT_THAT(Send(&client), ElementsAre("1:1,2", "2:3,4", "3:flush"));
    client.Push();

    for (size_t i = 0; i + 1 < row.responses.size(); ++i) {
      EXPECT_THAT(client.Receive(row.responses[i]), IsOk());
    }
    const absl::Status status = client.Receive(row.responses.back());
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal,
                                 Mentions({"broke the protocol", row.part})));
    EXPECT_EQ(client.Receive(CreditOf(3)), status);
    EXPECT_THAT(Send(&client), IsEmpty());
  }
}

TEST(ClientSessionTest, TheFirstResponseMustOpenTheStream) {
  const Response opened = OpenedWith(2, kPlenty);
  struct Row {
    Response response;
    std::string part;
  };
  const std::vector<Row> rows = {
      {CreditOf(0), "first response"},
      {PacksFrom(1, {{0}}), "first response"},
      {{Refused{1, absl::InternalError("x")}, absl::nullopt}, "first response"},
      {{Ended{0, 0, 0}, absl::nullopt}, "first response"},
      {{Opened{kProtocolVersion, 1, 2, 0, 0}, absl::nullopt}, "no credit"},
      {{Opened{kProtocolVersion, 1, 0, 0, 0}, kPlenty}, "no sequence"},
      {{Opened{0, 1, 2, 0, 0}, kPlenty}, "version 0"},
      {{Opened{2, 1, 2, 0, 0}, kPlenty}, "version 2"},
      {{Opened{kProtocolVersion, 1, 2, 0, 0}, Credit{1, 9, 9}},
       "received input 1"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.part);
    ClientSession client(MakeSpec(10, 4), 2, "");
    EXPECT_THAT(Send(&client), ElementsAre("open"));
    EXPECT_THAT(client.Receive(row.response),
                StatusIs(absl::StatusCode::kInternal,
                         Mentions({"broke the protocol", row.part})));
  }
  ClientSession silent(MakeSpec(10, 4), 2, "");
  EXPECT_THAT(
      silent.Receive(opened),
      StatusIs(absl::StatusCode::kInternal, Mentions({"without an `open`"})));
}

TEST(ClientSessionTest, TheTotalsOfEndedMustAgree) {
  struct Row {
    std::vector<Response> responses;
    std::string part;  // none: it is right
  };
  const auto ended = [](uint64_t sequences, uint64_t packs,
                        uint64_t units = 3) {
    return Response{Ended{sequences, packs, units}, absl::nullopt};
  };
  const Response all = PacksFrom(1, {{0, 2}, {1}});
  const std::vector<Row> rows = {
      {{all, ended(3, 2)}, ""},
      {{all, ended(2, 2)}, "counts 2 sequences and 3 units, 3 units came"},
      {{all, ended(4, 2)}, "counts 4 sequences"},
      {{all, ended(3, 2, 2)}, "3 sequences and 2 units, 3 units came"},
      {{all, ended(3, 1)}, "counts 1 packs, 2 came"},
      {{all, ended(3, 3)}, "counts 3 packs, 2 came"},
      {{PacksFrom(1, {{0, 2}}), ended(3, 1)}, "2 units came in packs"},
      {{ended(0, 0)}, "0 units came in packs"},
      {{all, ended(3, 2), CreditOf(2)}, "after `ended`"},
      {{all, ended(3, 2), ended(3, 2)}, "after `ended`"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.part);
    ClientSession client = OpenClient(3);
    EXPECT_THAT(client.Add({1, 2, 3}), IsOk());
    client.End();
    EXPECT_THAT(Send(&client), ElementsAre("1:1,2,3", "2:end"));
    absl::Status status;
    for (const Response& response : row.responses) {
      ASSERT_THAT(status, IsOk());
      status = client.Receive(response);
    }
    if (row.part.empty()) {
      EXPECT_THAT(status, IsOk());
      EXPECT_TRUE(client.ended());
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal,
                                   Mentions({"broke the protocol", row.part})));
    }
  }
}

}  // namespace
}  // namespace packhouse
