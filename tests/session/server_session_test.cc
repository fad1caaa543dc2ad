#include "session/server_session.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "packhouse/plan.h"
#include "packhouse/plan_check.h"
#include "tests/session/session_testing.h"

namespace packhouse {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kIncarnation = 0x1234567890abcdef;

// A session and everything it has answered.
class Server {
 public:
  explicit Server(const SessionLimits& limits = SessionLimits())
      : session(limits, kIncarnation) {}

  absl::Status Send(Request request) {
    responses.clear();
    return session.Receive(request, &responses);
  }

  // Sends a request that must succeed; the packs of its responses.
  Packs MustSend(Request request) {
    EXPECT_THAT(Send(std::move(request)), IsOk());
    Packs packs;
    for (size_t i = 0; i < responses.size(); ++i) {
      // The last response has the credit, and only that.
      EXPECT_EQ(responses[i].credit.has_value(), i + 1 == responses.size());
      if (const auto* list = std::get_if<PackList>(&responses[i].event)) {
        packs.Append(list->packs);
      }
    }
    EXPECT_FALSE(responses.empty());
    return packs;
  }

  const Credit& credit() const { return *responses.back().credit; }

  template <typename T>
  const T& event(size_t i = 0) const {
    return std::get<T>(responses.at(i).event);
  }

  ServerSession session;
  std::vector<Response> responses;  // to the last request
};

Open OpenWith(const PackSpec& spec, uint32_t version = kProtocolVersion) {
  Open open;
  open.protocol_version = version;
  open.spec = spec;
  return open;
}

TEST(ServerSessionTest, OpenedTellsLimitsAndCredit) {
  SessionLimits limits;
  limits.credit_inputs = 7;
  limits.credit_sequences = 500;
  limits.max_batch_sequences = 100;
  Server server(limits);
  EXPECT_EQ(server.session.spec(), nullptr);

  const PackSpec spec = MakeSpec(512, 64);
  server.MustSend(OpenWith(spec));
  ASSERT_EQ(server.responses.size(), 1u);
  const Opened& opened = server.event<Opened>();
  EXPECT_EQ(opened.protocol_version, 1u);
  EXPECT_EQ(opened.server_incarnation, kIncarnation);
  EXPECT_EQ(opened.max_batch_sequences, 100u);
  EXPECT_EQ(server.credit().received_number, 0u);
  EXPECT_EQ(server.credit().max_number, 7u);
  EXPECT_EQ(server.credit().max_sequences, 500u);
  ASSERT_NE(server.session.spec(), nullptr);
  EXPECT_EQ(*server.session.spec(), spec);
}

TEST(ServerSessionTest, RefusesWhatItCannotOpen) {
  struct Case {
    Open open;
    absl::StatusCode code;
    std::vector<std::string> parts;
  };
  PackSpec unknown = MakeSpec(512, 64);
  unknown.algorithm = "magic";
  PackSpec offline = MakeSpec(512, 64);
  offline.algorithm = "best";
  PackSpec wide = MakeSpec((1 << 24) + 1, 64);
  wide.algorithm = "sliding";
  PackSpec far = MakeSpec(512, 64);
  far.algorithm = "sliding";
  far.max_displacement = 4001;
  const Case cases[] = {
      {OpenWith(MakeSpec(512, 64), 0),
       absl::StatusCode::kFailedPrecondition,
       {"version 0", "1 to 1"}},
      {OpenWith(MakeSpec(512, 64), 2),
       absl::StatusCode::kFailedPrecondition,
       {"version 2", "1 to 1"}},
      // Another version may mean another spec: it comes first.
      {OpenWith(MakeSpec(0, 0), 2),
       absl::StatusCode::kFailedPrecondition,
       {"version 2"}},
      {OpenWith(MakeSpec(0, -3)),
       absl::StatusCode::kInvalidArgument,
       {"capacity_tokens", "window_sequences", "-3"}},
      {OpenWith(unknown),
       absl::StatusCode::kInvalidArgument,
       {"magic", "spfhp", "lpfhp"}},
      {OpenWith(MakeSpec(512, 1001)),
       absl::StatusCode::kResourceExhausted,
       {"1001", "1000"}},
      {OpenWith(offline),
       absl::StatusCode::kInvalidArgument,
       {"best", "whole lists only", "sliding"}},
      {OpenWith(wide),
       absl::StatusCode::kResourceExhausted,
       {"16777217", "16777216"}},
      {OpenWith(far),
       absl::StatusCode::kResourceExhausted,
       {"max_displacement is 4001", "4000"}},
  };
  SessionLimits limits;
  limits.max_window_sequences = 1000;
  for (const Case& test : cases) {
    Server server(limits);
    EXPECT_THAT(server.Send(test.open),
                StatusIs(test.code, Mentions(test.parts)));
    EXPECT_TRUE(server.responses.empty());
    EXPECT_EQ(server.session.spec(), nullptr);
  }
  Server server(limits);
  EXPECT_THAT(server.Send(OpenWith(MakeSpec(512, 1000))), IsOk());
}

TEST(ServerSessionTest, RefusesRequestsInTheWrongState) {
  enum Before { kNothing, kOpened, kEnded };
  struct Case {
    Before before;
    Request request;
    std::string part;
  };
  const Open open = OpenWith(MakeSpec(512, 64));
  const Case cases[] = {
      {kNothing, std::monostate(), "no content"},
      {kNothing, Batch{1, {5}}, "first request"},
      {kNothing, Flush{1}, "first request"},
      {kNothing, End{1}, "first request"},
      {kOpened, std::monostate(), "no content"},
      {kOpened, open, "second `open`"},
      {kEnded, std::monostate(), "no content"},
      {kEnded, open, "second `open`"},
      {kEnded, Batch{2, {5}}, "input 2 came after `end`"},
      {kEnded, Flush{2}, "input 2 came after `end`"},
      {kEnded, End{2}, "input 2 came after `end`"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(testing::Message() << "before " << test.before << ", request "
                                    << test.request.index());
    Server server;
    if (test.before != kNothing) server.MustSend(open);
    if (test.before == kEnded) server.MustSend(End{1});
    EXPECT_THAT(
        server.Send(test.request),
        StatusIs(absl::StatusCode::kFailedPrecondition, Mentions({test.part})));
    EXPECT_TRUE(server.responses.empty());
  }
}

TEST(ServerSessionTest, NamesTheExpectedNumber) {
  const auto make = [](int kind, uint64_t number) -> Request {
    if (kind == 0) return Batch{number, {1}};
    if (kind == 1) return Flush{number};
    return End{number};
  };
  for (int kind = 0; kind < 3; ++kind) {
    for (const uint64_t received : {uint64_t{0}, uint64_t{1}, uint64_t{5}}) {
      for (const uint64_t number :
           {received + 2, std::numeric_limits<uint64_t>::max()}) {
        Server server;
        server.MustSend(OpenWith(MakeSpec(10, 4)));
        for (uint64_t i = 1; i <= received; ++i) {
          server.MustSend(Batch{i, {1}});
        }
        EXPECT_THAT(server.Send(make(kind, number)),
                    StatusIs(absl::StatusCode::kOutOfRange,
                             Mentions({"input " + std::to_string(number),
                                       std::to_string(received + 1) +
                                           " was expected"})));
        EXPECT_TRUE(server.responses.empty());
      }
    }
  }
}

TEST(ServerSessionTest, NoInputIsNumberZero) {
  for (const Request& input :
       std::vector<Request>{Batch{0, {1}}, Flush{0}, End{0}}) {
    Server server;
    server.MustSend(OpenWith(MakeSpec(10, 4)));
    server.MustSend(Batch{1, {1}});
    EXPECT_THAT(server.Send(input),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         Mentions({"input 0", "begin with 1"})));
    EXPECT_TRUE(server.responses.empty());
  }
}

TEST(ServerSessionTest, AnInputThatCameBeforeChangesNothing) {
  Server server;
  server.MustSend(OpenWith(MakeSpec(10, 2)));
  EXPECT_EQ(server.MustSend(Batch{1, {5, 6}}), MakePacks({{0}, {1}}));
  EXPECT_TRUE(server.MustSend(Batch{1, {5, 6}}).empty());
  EXPECT_EQ(server.credit().received_number, 1u);
  server.MustSend(Batch{2, {11}});
  EXPECT_EQ(server.event<Refused>().number, 2u);
  server.MustSend(Batch{2, {11}});
  EXPECT_EQ(server.event<Refused>().number, 2u);
  EXPECT_EQ(server.MustSend(Batch{3, {4}}), Packs());
  EXPECT_EQ(server.MustSend(Flush{4}), MakePacks({{2}}));
  EXPECT_TRUE(server.MustSend(Flush{4}).empty());
  EXPECT_TRUE(server.MustSend(Flush{2}).empty());
  EXPECT_EQ(server.credit().received_number, 4u);
  EXPECT_EQ(server.credit().max_sequences, 4u + 4 * kMaxBatchSequences);
  EXPECT_EQ(server.session.counts().accepted.sequences, 3u);
  EXPECT_EQ(server.session.counts().refused_batches, 1u);
  server.MustSend(End{5});
  EXPECT_EQ(server.event<Ended>().packs, 3u);
}

TEST(ServerSessionTest, TakesNothingAfterAFailure) {
  Server server;
  server.MustSend(OpenWith(MakeSpec(10, 4)));
  EXPECT_FALSE(server.Send(Batch{3, {1}}).ok());
  EXPECT_FALSE(server.session.ended());
  for (const Request& request :
       std::vector<Request>{OpenWith(MakeSpec(10, 4)), Batch{1, {1}}, End{1},
                            std::monostate()}) {
    EXPECT_THAT(server.Send(request),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         Mentions({"has failed"})));
    EXPECT_TRUE(server.responses.empty());
  }
}

TEST(ServerSessionTest, AnswersEveryInputWithPacksAndCredit) {
  SessionLimits limits;
  limits.credit_inputs = 10;
  limits.credit_sequences = 100;
  Server server(limits);
  server.MustSend(OpenWith(MakeSpec(10, 3)));

  // Two of a window of three: nothing is decided.
  EXPECT_TRUE(server.MustSend(Batch{1, {6, 4}}).empty());
  EXPECT_EQ(server.credit().received_number, 1u);
  EXPECT_EQ(server.credit().max_number, 11u);
  EXPECT_EQ(server.credit().max_sequences, 102u);
  EXPECT_EQ(server.session.counts().pending_units(), 2u);

  // The third closes it, one is over.
  Packs packs = server.MustSend(Batch{2, {5, 7}});
  EXPECT_EQ(packs, MakePacks({{0}, {1, 2}}));
  EXPECT_EQ(server.event<PackList>().first_number, 1u);
  EXPECT_EQ(server.credit().received_number, 2u);
  EXPECT_EQ(server.credit().max_sequences, 104u);

  packs = server.MustSend(Flush{3});
  EXPECT_EQ(packs, MakePacks({{3}}));
  EXPECT_EQ(server.event<PackList>().first_number, 3u);

  // With nothing pending a flush closes nothing; an empty batch is an input.
  EXPECT_TRUE(server.MustSend(Flush{4}).empty());
  EXPECT_TRUE(
      std::holds_alternative<std::monostate>(server.responses.at(0).event));
  EXPECT_TRUE(server.MustSend(Batch{5, {}}).empty());
  EXPECT_EQ(server.credit().received_number, 5u);
  EXPECT_EQ(server.credit().max_number, 15u);

  server.MustSend(Batch{6, {1}});
  EXPECT_FALSE(server.session.ended());
  packs = server.MustSend(End{7});
  EXPECT_TRUE(server.session.ended());
  ASSERT_EQ(server.responses.size(), 2u);
  EXPECT_EQ(packs, MakePacks({{4}}));
  EXPECT_EQ(server.event<PackList>(0).first_number, 4u);
  EXPECT_EQ(server.event<Ended>(1).sequences, 5u);
  EXPECT_EQ(server.event<Ended>(1).packs, 4u);
  EXPECT_EQ(server.credit().received_number, 7u);
  EXPECT_EQ(server.session.counts().pending_units(), 0u);
}

TEST(ServerSessionTest, AppendsToResponsesThatWait) {
  ServerSession session(SessionLimits(), kIncarnation);
  std::vector<Response> responses;
  uint64_t number = 0;
  EXPECT_THAT(session.Receive(OpenWith(MakeSpec(10, 3)), &responses), IsOk());
  for (const Request& request :
       std::vector<Request>{Batch{1, {6}}, Flush{2}, Batch{3, {0}}}) {
    EXPECT_THAT(session.Receive(request, &responses), IsOk());
    ASSERT_EQ(responses.size(), ++number + 1);
    for (uint64_t i = 0; i <= number; ++i) {
      EXPECT_EQ(responses[i].credit->received_number, i);
    }
  }
  EXPECT_FALSE(session.Receive(End{9}, &responses).ok());
  EXPECT_EQ(responses.size(), number + 1);
}

TEST(ServerSessionTest, AnEmptyStreamEnds) {
  Server server;
  server.MustSend(OpenWith(MakeSpec(10, 3)));
  server.MustSend(End{1});
  ASSERT_EQ(server.responses.size(), 1u);
  EXPECT_EQ(server.event<Ended>().sequences, 0u);
  EXPECT_EQ(server.event<Ended>().packs, 0u);
}

TEST(ServerSessionTest, ABadBatchIsRefusedWholeAndTheStreamLives) {
  Server server;
  server.MustSend(OpenWith(MakeSpec(10, 3)));
  server.MustSend(Batch{1, {6}});
  const uint64_t credit_before = server.credit().max_sequences;

  server.MustSend(Batch{2, {3, 0, 11, 4}});
  ASSERT_EQ(server.responses.size(), 1u);
  const Refused& refused = server.event<Refused>();
  EXPECT_EQ(refused.number, 2u);
  EXPECT_THAT(refused.status, StatusIs(absl::StatusCode::kInvalidArgument,
                                       Mentions({"2", "3", "11", "10"})));
  EXPECT_EQ(server.credit().received_number, 2u);
  // Refused sequences count against the credit, and it comes back.
  EXPECT_EQ(server.credit().max_sequences, credit_before + 4);
  EXPECT_EQ(server.session.counts().pending_units(), 1u);

  // The next batch gets the ordinals that the refused one did not.
  const Packs packs = server.MustSend(Batch{3, {4, 9}});
  EXPECT_EQ(packs, MakePacks({{0, 1}, {2}}));
  EXPECT_EQ(server.session.counts().batches, 2u);
  EXPECT_EQ(server.session.counts().refused_batches, 1u);
  EXPECT_EQ(server.session.counts().accepted.sequences, 3u);
  EXPECT_EQ(server.session.counts().accepted.tokens, 19u);
}

TEST(ServerSessionTest, TheTextOfARefusalIsShort) {
  Server server;
  server.MustSend(OpenWith(MakeSpec(10, 3)));
  server.MustSend(
      Batch{1, std::vector<uint32_t>(kMaxBatchSequences, 4294967295)});
  const Refused& refused = server.event<Refused>();
  EXPECT_LT(refused.status.message().size(), 2048u);
  EXPECT_THAT(refused.status, StatusIs(absl::StatusCode::kInvalidArgument,
                                       Mentions({"4294967295", "65536"})));
}

TEST(ServerSessionTest, ATooLongBatchEndsTheStream) {
  struct Case {
    uint64_t credit_sequences;
    uint32_t max_batch_sequences;
    uint32_t allowed;
  };
  // A batch beyond the whole credit could never be sent, so the lesser holds.
  for (const Case& test :
       {Case{1000, 50, 50}, Case{50, 1000, 50}, Case{1, 1, 1}}) {
    SessionLimits limits;
    limits.credit_sequences = test.credit_sequences;
    limits.max_batch_sequences = test.max_batch_sequences;
    Server server(limits);
    server.MustSend(OpenWith(MakeSpec(10, 3)));
    EXPECT_EQ(server.event<Opened>().max_batch_sequences, test.allowed);
    server.MustSend(Batch{1, std::vector<uint32_t>(test.allowed, 1)});
    EXPECT_THAT(
        server.Send(Batch{2, std::vector<uint32_t>(test.allowed + 1, 1)}),
        StatusIs(absl::StatusCode::kResourceExhausted,
                 Mentions({"batch 2", std::to_string(test.allowed + 1),
                           "at most " + std::to_string(test.allowed)})));
    EXPECT_TRUE(server.responses.empty());
    EXPECT_EQ(server.session.counts().accepted.sequences, test.allowed);
  }
}

TEST(ServerSessionTest, ABatchOfTooManyPiecesEndsTheStream) {
  PackSpec spec = MakeSpec(1, 3);
  spec.overlong = Overlong::kSplit;
  Server server;
  server.MustSend(OpenWith(spec));
  // The most that a client makes: as many units as sequences but one, and then
  // a sequence of the most pieces.
  std::vector<uint32_t> lengths(kMaxBatchSequences - 1, 1);
  lengths.push_back(kMaxPiecesPerSequence);
  server.MustSend(Batch{1, lengths});
  EXPECT_EQ(server.session.counts().accepted.units, kMaxBatchUnits - 1);
  EXPECT_THAT(server.Send(Batch{2, {65536, 65536, 1}}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       Mentions({"pieces", "batch 2", "131073", "131072"})));
}

// Dropped sequences count for no window: what waits behind them is bounded
// still.
TEST(ServerSessionTest, NothingWaitsBehindEndlessDroppedSequences) {
  PackSpec spec = MakeSpec(10, 2);
  spec.empty = Empty::kDrop;
  Server server;
  server.MustSend(OpenWith(spec));
  const std::vector<uint32_t> empty(kMaxBatchSequences, 0);
  // With no unit waiting they may go on for ever.
  server.MustSend(Batch{1, empty});
  server.MustSend(Batch{2, empty});
  server.MustSend(Batch{3, {5}});
  // 16 for each that may wait, a window and one, and a batch.
  server.MustSend(Batch{4, empty});
  EXPECT_EQ(MaxWaitingSequences(spec), 65584u);
  EXPECT_THAT(server.Send(Batch{5, empty}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       Mentions({"since ordinal 131072", "131073", "at most",
                                 "65584", "flush"})));
}

// What waits is known exactly when pieces of one sequence are packed apart.
TEST(ServerSessionTest, CountsPiecesThatWait) {
  PackSpec spec = MakeSpec(10, 2);
  spec.overlong = Overlong::kSplit;
  Server server;
  server.MustSend(OpenWith(spec));
  server.MustSend(Batch{1, {25, 3}});
  const SessionCounts& counts = server.session.counts();
  EXPECT_EQ(counts.pending_units(), 0u);
  server.MustSend(Batch{2, {17, 4}});
  EXPECT_EQ(counts.pending_units(), 1u);
  EXPECT_EQ(counts.pending_tokens(), 4u);
  server.MustSend(Batch{3, {12}});
  EXPECT_EQ(counts.pending_units(), 1u);
  EXPECT_EQ(counts.pending_tokens(), 2u);
  EXPECT_EQ(counts.accepted.tokens, 61u);
  EXPECT_EQ(counts.packed_tokens, 59u);
}

// The sequences of each response to the last request that has packs.
std::vector<size_t> ResponseSizes(const Server& server) {
  std::vector<size_t> sizes;
  for (const Response& response : server.responses) {
    if (const auto* list = std::get_if<PackList>(&response.event)) {
      sizes.push_back(list->packs.ordinals.size());
    }
  }
  return sizes;
}

TEST(ServerSessionTest, AWindowThatClosesAtOnceComesInSeveralResponses) {
  constexpr uint32_t kWindow = 1 << 19;
  Server server;
  const PackSpec spec = MakeSpec(512, kWindow);
  server.MustSend(OpenWith(spec));

  std::mt19937_64 random(1);
  std::vector<uint32_t> lengths(kWindow);
  for (uint32_t& length : lengths) {
    length = 1 + static_cast<uint32_t>(random() % 512);
  }
  Packs packs;
  uint64_t number = 0;
  for (size_t begin = 0; begin < kWindow; begin += kMaxBatchSequences) {
    EXPECT_TRUE(packs.empty());
    packs = server.MustSend(Batch{
        ++number,
        std::vector<uint32_t>(lengths.begin() + begin,
                              lengths.begin() + begin + kMaxBatchSequences)});
  }
  const absl::StatusOr<Packs> plan = Plan(lengths, spec);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(packs == *plan);

  // Full responses, so as few as there can be, give or take a pack's length.
  const std::vector<size_t> sizes = ResponseSizes(server);
  EXPECT_GE(sizes.size(), kWindow / kMaxResponseUnits);
  EXPECT_LE(sizes.size(), kWindow / kMaxResponseUnits + 1);
  EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()), kMaxResponseUnits);
  uint64_t next = 1;
  for (size_t i = 0; i < server.responses.size(); ++i) {
    EXPECT_EQ(server.event<PackList>(i).first_number, next);
    next += server.event<PackList>(i).packs.size();
  }
  EXPECT_EQ(server.session.counts().packs, next - 1);
}

TEST(ServerSessionTest, APackIsNeverCut) {
  // Two packs of 70000 sequences each, and a small one.
  constexpr uint32_t kPack = 70000;
  static_assert(kPack > kMaxResponseUnits);
  Server server;
  server.MustSend(OpenWith(MakeSpec(kPack, 1 << 19)));
  const std::vector<uint32_t> ones(kPack / 2, 1);
  for (uint64_t number = 1; number <= 4; ++number) {
    server.MustSend(Batch{number, ones});
  }
  server.MustSend(Batch{5, {1, 1}});
  server.MustSend(Flush{6});
  EXPECT_THAT(ResponseSizes(server), ElementsAre(kPack, kPack, 2));
  EXPECT_EQ(server.event<PackList>(2).first_number, 3u);
}

TEST(ServerSessionTest, PacksUpToTheLimitShareAResponse) {
  Server server;
  server.MustSend(OpenWith(MakeSpec(1, 1 << 19)));
  const std::vector<uint32_t> ones(kMaxResponseUnits, 1);
  server.MustSend(Batch{1, ones});
  server.MustSend(Flush{2});
  EXPECT_THAT(ResponseSizes(server), ElementsAre(kMaxResponseUnits));
  server.MustSend(Batch{3, ones});
  server.MustSend(Batch{4, {1}});
  server.MustSend(Flush{5});
  EXPECT_THAT(ResponseSizes(server), ElementsAre(kMaxResponseUnits, 1));
}

TEST(ServerSessionTest, CountsTokensAndFootprintsExactly) {
  std::mt19937_64 random(1);
  for (const int64_t alignment :
       {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, int64_t{12},
        int64_t{16}, int64_t{1000}, int64_t{65537}, (int64_t{1} << 30) - 1,
        int64_t{1} << 30, kMaxCapacityTokens}) {
    SCOPED_TRACE(testing::Message() << "alignment " << alignment);
    PackSpec spec = MakeSpec(kMaxCapacityTokens, 64);
    spec.sequence_alignment = alignment;
    // Lengths on both sides of every edge, the longest, and any others.
    const int64_t longest = kMaxCapacityTokens / alignment * alignment;
    std::vector<uint32_t> lengths;
    const auto add = [&](int64_t length) {
      if (length < 1 || length > longest) return;
      lengths.push_back(static_cast<uint32_t>(length));
    };
    for (int64_t units = 0; units < 100; ++units) {
      for (int64_t beside = -1; beside <= 1; ++beside) {
        add(units * alignment + beside);
        add(longest - units * alignment + beside);
      }
    }
    for (int i = 0; i < 10000; ++i) {
      add(static_cast<int64_t>(random() % static_cast<uint64_t>(longest)) + 1);
    }
    uint64_t tokens = 0;
    uint64_t footprints = 0;
    for (const uint32_t length : lengths) {
      tokens += length;
      footprints += Footprint(spec, length);
    }
    Server server;
    server.MustSend(OpenWith(spec));
    server.MustSend(Batch{1, lengths});
    EXPECT_EQ(server.session.counts().batches, 1u);
    EXPECT_EQ(server.session.counts().accepted.sequences, lengths.size());
    EXPECT_EQ(server.session.counts().accepted.tokens, tokens);
    EXPECT_EQ(server.session.counts().accepted.footprint_tokens, footprints);
  }
}

}  // namespace
}  // namespace packhouse
