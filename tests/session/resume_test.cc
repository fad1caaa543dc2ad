// How a stream goes on elsewhere: snapshots, the state of an owner, and what is
// said to states that are not ours. That all of it holds together in every
// order of accidents is for tests/simulation.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "packhouse/packer.h"
#include "packing/seal.h"
#include "session/client_session.h"
#include "session/reason.h"
#include "session/server_session.h"
#include "tests/session/session_testing.h"

namespace packhouse {
namespace {

using ::testing::ElementsAre;

constexpr uint32_t kBatch = 4;

// Moves messages between both ends until nothing moves.
void Exchange(ClientSession* client, ServerSession* server) {
  for (absl::optional<Request> request = client->NextRequest();
       request.has_value(); request = client->NextRequest()) {
    std::vector<Response> responses;
    ASSERT_THAT(server->Receive(*request, &responses), IsOk());
    for (const Response& response : responses) {
      ASSERT_THAT(client->Receive(response), IsOk());
    }
  }
}

ClientSession NewClient(const PackSpec& spec) {
  return ClientSession(spec, kBatch, "stream");
}

SessionLimits SnapshotEvery(uint64_t sequences, uint64_t inputs) {
  SessionLimits limits;
  limits.snapshot_sequences = sequences;
  limits.snapshot_inputs = inputs;
  return limits;
}

// The snapshots among the responses to inputs of these sizes; 0 is a flush.
std::vector<Snapshot> SnapshotsOf(const PackSpec& spec,
                                  const SessionLimits& limits,
                                  const std::vector<size_t>& inputs) {
  ServerSession server(limits, 1);
  std::vector<Response> responses;
  Open open;
  open.spec = spec;
  EXPECT_THAT(server.Receive(open, &responses), IsOk());
  uint64_t number = 0;
  for (const size_t size : inputs) {
    ++number;
    const Request request =
        size == 0 ? Request(Flush{number})
                  : Request(Batch{number, std::vector<uint32_t>(size, 1)});
    EXPECT_THAT(server.Receive(request, &responses), IsOk());
  }
  std::vector<Snapshot> snapshots;
  for (const Response& response : responses) {
    if (const auto* snapshot = std::get_if<Snapshot>(&response.event)) {
      snapshots.push_back(*snapshot);
    }
  }
  return snapshots;
}

std::vector<uint64_t> NumbersOf(const std::vector<Snapshot>& snapshots) {
  std::vector<uint64_t> numbers;
  for (const Snapshot& snapshot : snapshots) {
    numbers.push_back(snapshot.received_number);
  }
  return numbers;
}

TEST(ResumeTest, SnapshotsComeAsOftenAsIsSaid) {
  const PackSpec spec = MakeSpec(10, 2);
  EXPECT_THAT(NumbersOf(SnapshotsOf(spec, SnapshotEvery(8, 100),
                                    {4, 4, 1, 8, 7, 1, 1})),
              ElementsAre(2, 4, 6));
  EXPECT_THAT(NumbersOf(SnapshotsOf(spec, SnapshotEvery(100, 3),
                                    {1, 1, 1, 0, 1, 0, 1})),
              ElementsAre(3, 6));
  // A window that is large for that gets them after four windows only.
  EXPECT_THAT(NumbersOf(SnapshotsOf(MakeSpec(10, 4), SnapshotEvery(2, 100),
                                    {8, 8, 8, 8})),
              ElementsAre(2, 4));

  const std::vector<Snapshot> snapshots =
      SnapshotsOf(spec, SnapshotEvery(8, 100), {4, 5});
  ASSERT_EQ(snapshots.size(), 1u);
  EXPECT_EQ(snapshots[0].sequences, 9u);
  EXPECT_EQ(snapshots[0].packs, 4u);
}

TEST(ResumeTest, ASnapshotIsSmall) {
  PackSpec spec = MakeSpec(4096, 1024);
  spec.algorithm = "sliding";
  ServerSession server(SessionLimits(), 1);
  std::vector<Response> responses;
  Open open;
  open.spec = spec;
  ASSERT_THAT(server.Receive(open, &responses), IsOk());
  std::vector<uint32_t> lengths;
  for (uint32_t i = 0; i < 60000; ++i) lengths.push_back(1 + i * 7919 % 4096);
  ASSERT_THAT(server.Receive(Batch{1, lengths}, &responses), IsOk());
  responses.clear();
  server.AppendSnapshot(&responses);
  ASSERT_EQ(responses.size(), 1u);
  const Snapshot& snapshot = std::get<Snapshot>(responses[0].event);
  EXPECT_LT(snapshot.state.size(), 10000u);
  EXPECT_EQ(server.counts().snapshot_bytes, snapshot.state.size());
}

TEST(ResumeTest, ADrainComesBehindASnapshot) {
  ServerSession server(SessionLimits(), 1);
  std::vector<Response> responses;
  server.Drain(3, &responses);
  EXPECT_TRUE(responses.empty());  // nobody is there yet
  Open open;
  open.spec = MakeSpec(10, 2);
  ASSERT_THAT(server.Receive(open, &responses), IsOk());
  ASSERT_THAT(server.Receive(Batch{1, {1}}, &responses), IsOk());
  responses.clear();
  server.Drain(3, &responses);
  ASSERT_EQ(responses.size(), 2u);
  EXPECT_EQ(std::get<Snapshot>(responses[0].event).received_number, 1u);
  EXPECT_EQ(std::get<Drain>(responses[1].event).grace_seconds, 3);
  ASSERT_THAT(server.Receive(End{2}, &responses), IsOk());
  responses.clear();
  server.Drain(3, &responses);
  EXPECT_TRUE(responses.empty());
}

TEST(ResumeTest, GoesOnFromTheSnapshotAndSendsNoPackTwice) {
  const PackSpec spec = MakeSpec(10, 2);
  ClientSession client = NewClient(spec);
  ServerSession first(SnapshotEvery(8, 100), 1);
  EXPECT_THAT(client.Add({5, 5, 4, 6, 3, 7, 2, 8}), IsOk());
  Exchange(&client, &first);  // with a snapshot after the last of them
  EXPECT_THAT(client.Add({9, 1, 1, 2, 3}), IsOk());
  client.Push();
  Exchange(&client, &first);
  EXPECT_EQ(client.Take().size(), 6u);
  EXPECT_LE(client.kept_sequences(), 8u);

  ServerSession second(SessionLimits(), 2);
  client.Connect(7);
  EXPECT_FALSE(client.needs_connection());  // all was answered
  client.End();
  EXPECT_TRUE(client.needs_connection());
  absl::optional<Request> open = client.NextRequest();
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(std::get<Open>(*open).incarnation, 7u);
  EXPECT_EQ(std::get<Open>(*open).stream_id, "stream");
  EXPECT_EQ(std::get<Open>(*open).resume->received_packs, 6u);
  std::vector<Response> responses;
  ASSERT_THAT(second.Receive(*open, &responses), IsOk());
  ASSERT_EQ(responses.size(), 1u);
  ASSERT_THAT(client.Receive(responses[0]), IsOk());
  Exchange(&client, &second);
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(client.Take(), MakePacks({{12}}));
  // Only what came after the snapshot was decided again, and is not counted
  // as packed.
  EXPECT_EQ(second.counts().replayed_packs, 2u);
  EXPECT_EQ(second.counts().replayed_units, 4u);
  EXPECT_EQ(second.counts().replayed_tokens, 13u);
  EXPECT_EQ(second.counts().packs, 1u);
  EXPECT_EQ(second.counts().packed_tokens, 3u);
}

TEST(ResumeTest, AServerTakesNoStateThatIsNotOfThisStream) {
  const PackSpec spec = MakeSpec(10, 2);
  std::string state = SnapshotsOf(spec, SnapshotEvery(1, 1), {3})[0].state;
  PackSpec other = spec;
  other.capacity_tokens = 11;
  struct Row {
    PackSpec spec;
    std::string state;
    uint64_t packs;
    std::string part;
  };
  const std::string version = SealState(BeginState(9, spec).Take());
  const std::vector<Row> rows = {
      {spec, state, 1, ""},
      {spec, state, 5, ""},  // more than it covers: decided and not sent
      {spec, state, 0, "covers 1 packs"},
      {other, state, 1, "another spec"},
      {spec, version, 1, "version 9"},
      {spec, SealState(state), 1, "contradicts"},
      {spec, "x", 1, "damaged"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.part);
    Open open;
    open.spec = row.spec;
    open.resume = Resume{row.state, row.packs};
    ServerSession server(SessionLimits(), 1);
    std::vector<Response> responses;
    const absl::Status status = server.Receive(open, &responses);
    if (&row == &rows[0] || &row == &rows[1]) {
      EXPECT_THAT(status, IsOk());
      EXPECT_EQ(responses.back().credit->received_number, 1u);
      continue;
    }
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 Mentions({row.part})));
    EXPECT_EQ(ReasonOf(status)->name, "STATE_INVALID");
    EXPECT_EQ(server.spec(), nullptr);
  }
}

// What a broken server could say in a snapshot. The client has sent 1:1,2 of
// three sequences given, and one pack has come.
TEST(ResumeTest, ASnapshotThatCannotBeIsAViolation) {
  const std::vector<std::pair<Snapshot, std::string>> rows = {
      {{1, 2, 1, "state"}, ""},
      {{2, 2, 1, "state"}, "inputs up to 2"},
      {{1, 3, 1, "state"}, "covers 3 sequences"},
      {{1, 2, 0, "state"}, "covers 0 packs, 1 came"},
      {{1, 2, 2, "state"}, "covers 2 packs, 1 came"},
      {{1, 2, 1, ""}, "0 bytes"},
      {{1, 2, 1, std::string(kMaxSnapshotBytes + 1, 'x')}, "bytes"},
  };
  for (const auto& [snapshot, part] : rows) {
    SCOPED_TRACE(part);
    ClientSession client(MakeSpec(10, 2), 2, "");
    ServerSession server(SessionLimits(), 1);
    EXPECT_THAT(client.Add({5, 5, 5}), IsOk());
    Exchange(&client, &server);
    const absl::Status status = client.Receive({snapshot, absl::nullopt});
    if (part.empty()) {
      EXPECT_THAT(status, IsOk());
      // A later one that covers less.
      EXPECT_THAT(
          client.Receive({Snapshot{0, 0, 1, "x"}, absl::nullopt}),
          StatusIs(absl::StatusCode::kInternal, Mentions({"covers 0"})));
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal,
                                   Mentions({"broke the protocol", part})));
    }
  }
}

TEST(ResumeTest, AServerThatForgotInputsIsFoundOut) {
  ClientSession client = NewClient(MakeSpec(10, 2));
  ServerSession first(SnapshotEvery(1, 1), 1);
  EXPECT_THAT(client.Add({5, 5, 5, 5}), IsOk());
  Exchange(&client, &first);
  client.Connect(1);
  ASSERT_TRUE(client.NextRequest().has_value());
  EXPECT_THAT(
      client.Receive({Opened{kProtocolVersion, 1, 4, 0, 0}, Credit{0, 9, 9}}),
      StatusIs(absl::StatusCode::kInternal, Mentions({"broke the protocol"})));
}

// An owner took packs of 4 and 1 sequences; one of 2 has come, not taken.
TEST(ResumeTest, AStateCountsWhatWasTaken) {
  const PackSpec spec = MakeSpec(8, 8);
  ClientSession client = NewClient(spec);
  ServerSession server(SessionLimits(), 1);
  EXPECT_THAT(client.Add({2, 2, 2, 2}), IsOk());
  EXPECT_THAT(client.Flush(), IsOk());
  EXPECT_THAT(client.Add({8}), IsOk());
  EXPECT_THAT(client.Flush(), IsOk());
  Exchange(&client, &server);
  EXPECT_EQ(client.Take(), MakePacks({{0, 1, 2, 3}, {4}}));
  EXPECT_THAT(client.Add({4, 4}), IsOk());
  EXPECT_THAT(client.Flush(), IsOk());
  Exchange(&client, &server);

  const StreamPosition position = client.position();
  EXPECT_EQ(position.packs, 2u);
  EXPECT_EQ(position.read_from, 5u);
  EXPECT_EQ(position.given, 7u);
  EXPECT_THAT(position.done_after, ElementsAre());
  const std::string state = client.Save();
  EXPECT_EQ(client.Save(), state);

  absl::StatusOr<ClientSession> resumed =
      ClientSession::Restore(spec, kBatch, state);
  ASSERT_THAT(resumed.status(), IsOk());
  EXPECT_EQ(resumed->Save(), state);  // at once, and twice in a row
  EXPECT_EQ(resumed->position().read_from, 5u);
  EXPECT_EQ(resumed->Take(), MakePacks({{5, 6}}));
  resumed->Connect(2);
  ServerSession another(SessionLimits(), 2);
  EXPECT_THAT(resumed->Add({3}), IsOk());
  resumed->End();
  Exchange(&*resumed, &another);
  EXPECT_EQ(resumed->Take(), MakePacks({{7}}));
  EXPECT_TRUE(resumed->ended());
  // The end is kept too.
  absl::StatusOr<ClientSession> ended =
      ClientSession::Restore(spec, kBatch, resumed->Save());
  ASSERT_THAT(ended.status(), IsOk());
  EXPECT_TRUE(ended->ended());
  EXPECT_FALSE(ended->needs_connection());
  EXPECT_THAT(ended->Add({1}), StatusIs(absl::StatusCode::kFailedPrecondition,
                                        Mentions({"end"})));
}

// Three wait in a window of four when the state is saved: they come out once.
TEST(ResumeTest, WhatWaitsInTheWindowComesOutOnce) {
  const PackSpec spec = MakeSpec(4, 4);
  ClientSession client = NewClient(spec);
  ServerSession server(SnapshotEvery(1, 1), 1);
  EXPECT_THAT(client.Add({1, 2, 3}), IsOk());
  client.Push();
  Exchange(&client, &server);
  absl::StatusOr<ClientSession> resumed =
      ClientSession::Restore(spec, kBatch, client.Save());
  ASSERT_THAT(resumed.status(), IsOk());
  ServerSession another(SessionLimits(), 2);
  EXPECT_THAT(resumed->Add({2}), IsOk());
  resumed->End();
  Exchange(&*resumed, &another);
  Packs expected;
  Packer packer = *Packer::Create(spec);
  EXPECT_THAT(packer.Add({1, 2, 3, 2}, &expected), IsOk());
  EXPECT_THAT(packer.Finish(&expected), IsOk());
  EXPECT_EQ(resumed->Take(), expected);
}

TEST(ResumeTest, AServerTakesNoDamagedState) {
  const PackSpec spec = MakeSpec(10, 4);
  const std::string state =
      SnapshotsOf(spec, SnapshotEvery(5, 5), {3, 4, 5, 6, 7})[0].state;
  const auto expect_refused = [&spec](const std::string& damaged) {
    Open open;
    open.spec = spec;
    open.resume = Resume{damaged, 100};
    ServerSession server(SessionLimits(), 1);
    std::vector<Response> responses;
    const absl::Status status = server.Receive(open, &responses);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 Mentions({"damaged"})));
    EXPECT_EQ(ReasonOf(status)->name, "STATE_INVALID");
    EXPECT_TRUE(responses.empty());
  };
  for (size_t i = 0; i < state.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = state;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      expect_refused(flipped);
    }
    if (i > 0) expect_refused(state.substr(0, i));
  }
  expect_refused(state + "x");
}

// A client cannot have packs that the stream never had.
TEST(ResumeTest, PacksThatNeverWereEndInAnError) {
  for (const uint64_t packs : {0, 2, 3, 4}) {
    Open open;
    open.spec = MakeSpec(10, 2);
    open.resume = Resume{"", packs};
    ServerSession server(SessionLimits(), 1);
    std::vector<Response> responses;
    ASSERT_THAT(server.Receive(open, &responses), IsOk());
    ASSERT_THAT(server.Receive(Batch{1, {6, 7, 8}}, &responses), IsOk());
    responses.clear();
    const absl::Status status = server.Receive(End{2}, &responses);
    if (packs <= 3) {
      ASSERT_THAT(status, IsOk());
      EXPECT_EQ(std::get<Ended>(responses.back().event).packs, 3u);
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                   Mentions({"has 3 packs", "has 4"})));
      EXPECT_TRUE(responses.empty());
    }
  }
}

TEST(ResumeTest, ADamagedOwnersStateIsRefused) {
  PackSpec spec = MakeSpec(8, 8);
  spec.overlong = Overlong::kSplit;
  ClientSession client = NewClient(spec);
  ServerSession server(SnapshotEvery(2, 2), 1);
  EXPECT_THAT(client.Add({2, 19, 2, 7, 5, 3}), IsOk());
  EXPECT_THAT(client.Flush(), IsOk());
  EXPECT_THAT(client.Add({17, 1, 9}), IsOk());
  Exchange(&client, &server);
  const std::string state = client.Save();
  for (size_t i = 0; i < state.size(); ++i) {
    std::string flipped;
    for (int bit = 0; bit < 8; ++bit) {
      flipped = state;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      EXPECT_THAT(
          ClientSession::Restore(spec, kBatch, flipped).status(),
          StatusIs(absl::StatusCode::kInvalidArgument, Mentions({"damaged"})));
    }
    EXPECT_THAT(
        ClientSession::Restore(spec, kBatch, state.substr(0, i)).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, Mentions({"damaged"})));
  }
  PackSpec other = spec;
  other.window_sequences = 9;
  EXPECT_THAT(
      ClientSession::Restore(other, kBatch, state).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, Mentions({"another spec"})));
}

TEST(ReasonTest, RidesOnAStatus) {
  const absl::Status plain = absl::InternalError("no");
  EXPECT_FALSE(ReasonOf(plain).has_value());
  const absl::Status status = WithReason(
      plain,
      {"SERVER_FULL", {{"limit", "7"}, {"value", ""}}, absl::Seconds(2)});
  EXPECT_EQ(status.message(), "no");
  const absl::optional<Reason> reason = ReasonOf(status);
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->name, "SERVER_FULL");
  EXPECT_EQ(reason->metadata.at("limit"), "7");
  EXPECT_EQ(reason->metadata.at("value"), "");
  EXPECT_EQ(reason->retry_after, absl::Seconds(2));
  const absl::optional<Reason> limit = ReasonOf(OverLimit("a size", 5, 4));
  EXPECT_EQ(limit->name, "LIMIT_EXCEEDED");
  EXPECT_EQ(limit->metadata.at("value"), "5");
  EXPECT_EQ(limit->metadata.at("limit"), "4");
  EXPECT_FALSE(limit->retry_after.has_value());
}

}  // namespace
}  // namespace packhouse
