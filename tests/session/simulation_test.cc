// Both ends of a stream in one process, connected by two queues, under a
// random schedule: who moves next, how the owner cuts its lengths, how small
// the credit and the batches are. The packs must be those of a Packer that got
// the same lengths and flushes, whatever the schedule.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "packhouse/packer.h"
#include "packhouse/plan_check.h"
#include "packhouse/policy.h"
#include "session/client_session.h"
#include "session/server_session.h"
#include "tests/session/session_testing.h"

namespace packhouse {
namespace {

class Simulation {
 public:
  explicit Simulation(uint64_t seed)
      : random_(seed),
        spec_(RandomSpec()),
        limits_(RandomLimits()),
        batch_sequences_(static_cast<uint32_t>(UpTo(8))),
        calls_left_(UpTo(40) - 1),
        add_max_(UpTo(20)),
        client_(spec_, batch_sequences_, ""),
        server_(limits_, /*server_incarnation=*/seed),
        reference_(*Packer::Create(spec_)) {}

  void Run() {
    // Far more turns than any stream needs: one that locks does not end.
    for (int turn = 0; !client_.ended(); ++turn) {
      ASSERT_LT(turn, 100000) << "the stream does not end";
      switch (UpTo(4)) {
        case 1:
          OwnerCalls();
          break;
        case 2:
          ClientSends();
          break;
        case 3:
          ServerMoves();
          break;
        case 4:
          ClientReceives();
          break;
      }
      if (testing::Test::HasFatalFailure()) return;
    }
    CheckEnd();
  }

 private:
  // A number from 1 to `max`, all equally likely.
  uint64_t UpTo(uint64_t max) { return 1 + random_() % max; }

  PackSpec RandomSpec() {
    PackSpec spec;
    spec.capacity_tokens = static_cast<int64_t>(UpTo(30));
    spec.window_sequences = static_cast<int64_t>(UpTo(50));
    if (UpTo(2) == 1) spec.algorithm = "lpfhp";
    if (UpTo(3) == 1) {
      spec.max_sequences_per_pack = static_cast<int64_t>(UpTo(4));
    }
    if (UpTo(3) == 1) {
      spec.sequence_alignment = static_cast<int64_t>(
          UpTo(static_cast<uint64_t>(spec.capacity_tokens)));
    }
    if (UpTo(2) == 1) {
      spec.overlong = static_cast<Overlong>(UpTo(5) - 1);
      spec.empty = static_cast<Empty>(UpTo(2) - 1);
    }
    if (UpTo(4) == 1) spec.seed = UpTo(3);
    return spec;
  }

  // A length that the policies take: now and then one of their cases.
  uint32_t RandomLength() {
    if (spec_.empty == Empty::kDrop && UpTo(10) == 1) return 0;
    const uint64_t longest = LongestPiece(spec_);
    const bool overlong = spec_.overlong != Overlong::kError && UpTo(10) == 1;
    return static_cast<uint32_t>(UpTo(overlong ? 5 * longest : longest));
  }

  SessionLimits RandomLimits() {
    SessionLimits limits;
    limits.credit_inputs = UpTo(5);
    limits.credit_sequences = UpTo(20);
    limits.max_batch_sequences = static_cast<uint32_t>(UpTo(10));
    return limits;
  }

  void OwnerCalls() {
    if (UpTo(4) == 1) TakePacks();
    if (calls_left_ == 0) {
      client_.End();
      if (ended_) return;
      ended_ = true;
      ASSERT_THAT(reference_.Finish(&expected_), IsOk());
      return;
    }
    --calls_left_;
    switch (UpTo(8)) {
      case 1:
        ASSERT_THAT(client_.Flush(), IsOk());
        ASSERT_THAT(reference_.Flush(&expected_), IsOk());
        break;
      case 2:
        client_.Push();
        break;
      default: {
        std::vector<uint32_t> lengths(UpTo(add_max_) - 1);
        for (uint32_t& length : lengths) length = RandomLength();
        ASSERT_THAT(client_.Add(lengths), IsOk());
        ASSERT_THAT(reference_.Add(lengths, &expected_), IsOk());
        lengths_.insert(lengths_.end(), lengths.begin(), lengths.end());
      }
    }
  }

  void TakePacks() {
    taken_.Append(client_.Take());
    if (!client_.settled()) return;
    // Nothing is on the way, so what can be decided has come.
    ASSERT_TRUE(to_server_.empty());
    ASSERT_TRUE(to_client_.empty());
    if (client_.unsent_sequences() == 0) {
      ASSERT_EQ(taken_, expected_);
    }
  }

  void ClientSends() {
    absl::optional<Request> request = client_.NextRequest();
    if (!request.has_value()) return;
    if (const Batch* batch = std::get_if<Batch>(&*request)) {
      ASSERT_LE(batch->lengths.size(),
                std::min(batch_sequences_, limits_.max_batch_sequences));
    }
    to_server_.push_back(*std::move(request));
    uint64_t inputs = 0;
    uint64_t sequences = 0;
    for (const Request& queued : to_server_) {
      if (!std::holds_alternative<Open>(queued)) ++inputs;
      if (const Batch* batch = std::get_if<Batch>(&queued)) {
        sequences += batch->lengths.size();
      }
    }
    ASSERT_LE(inputs, limits_.credit_inputs);
    ASSERT_LE(sequences, limits_.credit_sequences);
  }

  void ServerMoves() {
    if (to_server_.empty()) return;
    std::vector<Response> responses;
    ASSERT_THAT(server_.Receive(to_server_.front(), &responses), IsOk());
    to_server_.pop_front();
    for (Response& response : responses) Queue(std::move(response));
  }

  // A transport may drop a credit that has not been sent when a later one is
  // behind it.
  void Queue(Response response) {
    if (response.credit.has_value() && !to_client_.empty() && UpTo(2) == 1) {
      Response& last = to_client_.back();
      if (!std::holds_alternative<Opened>(last.event)) last.credit.reset();
      if (std::holds_alternative<std::monostate>(last.event)) {
        to_client_.pop_back();
      }
    }
    to_client_.push_back(std::move(response));
  }

  void ClientReceives() {
    if (to_client_.empty()) return;
    ASSERT_THAT(client_.Receive(to_client_.front()), IsOk());
    to_client_.pop_front();
  }

  void CheckEnd() {
    ASSERT_TRUE(ended_);
    ASSERT_TRUE(server_.ended());
    TakePacks();
    ASSERT_EQ(taken_, expected_);
    ASSERT_THAT(Verify(lengths_, spec_, taken_), IsOk());

    const IntakeCounts came = CountIntake(spec_, lengths_);
    const SessionCounts& counts = server_.counts();
    ASSERT_EQ(counts.accepted.sequences, came.sequences);
    ASSERT_EQ(counts.accepted.tokens, came.tokens);
    ASSERT_EQ(counts.packed_units, came.units);
    ASSERT_EQ(counts.packed_tokens, came.packed_tokens);
    ASSERT_EQ(counts.packed_footprint_tokens, came.footprint_tokens);
    ASSERT_EQ(counts.packs, taken_.size());
    ASSERT_EQ(counts.refused_batches, 0u);
  }

  std::mt19937_64 random_;
  const PackSpec spec_;
  const SessionLimits limits_;
  const uint32_t batch_sequences_;
  uint64_t calls_left_;  // of the owner, before its End
  const uint64_t add_max_;
  bool ended_ = false;  // by the owner

  ClientSession client_;
  ServerSession server_;
  std::deque<Request> to_server_;
  std::deque<Response> to_client_;

  std::vector<uint32_t> lengths_;
  Packs taken_;
  Packer reference_;
  Packs expected_;
};

TEST(SimulationTest, PacksAreThoseOfAPackerWhateverTheSchedule) {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Simulation(seed).Run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace packhouse
