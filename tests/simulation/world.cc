#include "tests/simulation/world.h"

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "packhouse/policy.h"
#include "session/client_session.h"
#include "session/server_session.h"

namespace packhouse {
namespace {

constexpr size_t kServers = 2;

// One connection. The client has at most one that it looks at; a server may
// have several of the same stream until it notices.
struct Link {
  Link(size_t where, const SessionLimits& limits)
      : server(where), session(limits, /*server_incarnation=*/where) {}

  const size_t server;
  ServerSession session;
  uint64_t incarnation = 0;  // of the stream, once `open` was read
  std::deque<Request> to_server;
  std::deque<Response> to_client;
  bool open_at_server = true;
  bool open_at_client = true;
  // With what the server has ended the call, behind to_client.
  absl::optional<absl::Status> end;

  uint64_t queued_units() const {
    uint64_t units = 0;
    for (const Response& response : to_client) {
      if (const auto* list = std::get_if<PackList>(&response.event)) {
        units += list->packs.ordinals.size();
      }
    }
    return units;
  }
};

class World {
 public:
  World(uint64_t seed, Bug bug) : random_(seed), bug_(bug) {
    history_.spec = RandomSpec();
    MakeSource();
    limits_ = RandomLimits();
    batch_sequences_ = static_cast<uint32_t>(UpTo(8));
    queue_limit_ = UpTo(20);
    faults_left_ = UpTo(4) == 1 ? 0 : UpTo(12) - 1;
    history_.peaks = {{"the client's log of lengths"},
                      {"inputs on the way"},
                      {"sequences on the way"},
                      {"units that wait to be written"},
                      {"the size of a batch"}};
    NewOwner("");
  }

  Outcome Run() {
    // Far more than any stream needs: one that locks does not end.
    constexpr uint64_t kMaxSteps = 200000;
    while (!finished_ && error_.empty()) {
      if (++outcome_.steps > kMaxSteps) {
        Fail("the stream does not end");
        break;
      }
      Step();
    }
    history_.complete = finished_;
    outcome_.history = std::move(history_);
    outcome_.error = error_;
    return std::move(outcome_);
  }

 private:
  // A number from 1 to `max`, all equally likely.
  uint64_t UpTo(uint64_t max) { return 1 + random_() % max; }

  template <typename... Args>
  void Fail(const Args&... args) {
    if (error_.empty()) error_ = absl::StrCat(args...);
  }
  void FailUnlessOk(const absl::Status& status) {
    if (!status.ok()) Fail(status.ToString());
  }

  // --- What is drawn at the beginning -------------------------------------

  PackSpec RandomSpec() {
    PackSpec spec;
    spec.capacity_tokens = static_cast<int64_t>(UpTo(30));
    spec.window_sequences = static_cast<int64_t>(UpTo(40));
    switch (UpTo(5)) {
      case 1:
        spec.algorithm = "lpfhp";
        break;
      case 2:
        spec.algorithm = "depth_aware";
        break;
      case 3:
        spec.algorithm = "sliding";
        spec.effort = static_cast<Effort>(UpTo(3) - 1);
        if (UpTo(2) == 1)
          spec.max_displacement = static_cast<int64_t>(UpTo(90));
        break;
    }
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
    if (spec.algorithm != "sliding" && UpTo(4) == 1) spec.seed = UpTo(3);
    return spec;
  }

  void MakeSource() {
    const PackSpec& spec = history_.spec;
    const uint64_t size = UpTo(UpTo(200)) - 1;
    const uint64_t longest = LongestPiece(spec);
    for (uint64_t i = 0; i < size; ++i) {
      const bool overlong = spec.overlong != Overlong::kError && UpTo(10) == 1;
      uint64_t length = UpTo(overlong ? 5 * longest : longest);
      if (spec.empty == Empty::kDrop && UpTo(10) == 1) length = 0;
      history_.lengths.push_back(static_cast<uint32_t>(length));
      if (UpTo(20) == 1) history_.flushes.push_back(i + 1);
    }
  }

  SessionLimits RandomLimits() {
    SessionLimits limits;
    limits.credit_inputs = UpTo(5);
    limits.credit_sequences = UpTo(20);
    limits.max_batch_sequences = static_cast<uint32_t>(UpTo(10));
    limits.snapshot_sequences = UpTo(30);
    limits.snapshot_inputs = UpTo(20);
    return limits;
  }

  // --- One step ------------------------------------------------------------

  void Step() {
    switch (UpTo(5)) {
      case 1:
        OwnerMoves();
        break;
      case 2:
        ClientSends();
        break;
      case 3:
      case 4:
        UpTo(2) == 1 ? ServerMoves() : ClientReceives();
        break;
      case 5:
        if (UpTo(12) == 1 && faults_left_ > 0) {
          --faults_left_;
          Break();
        }
        break;
    }
  }

  void OwnerMoves() {
    if (UpTo(3) == 1) TakePacks();
    if (UpTo(6) == 1) SaveOwner();
    if (client_->ended()) {
      TakePacks();
      finished_ = true;
      return;
    }
    // The next place where the source asks for a flush, or its end.
    const uint64_t given = client_->given_sequences();
    uint64_t stop = history_.lengths.size();
    for (const uint64_t flush : history_.flushes) {
      if (flush > flushed_) {
        stop = flush;
        break;
      }
    }
    if (UpTo(4) == 1) client_->Push();
    if (given == stop) {
      if (stop > flushed_ && stop != history_.lengths.size()) {
        FailUnlessOk(client_->Flush());
        flushed_ = stop;
      } else if (stop == history_.lengths.size()) {
        // A flush at the very end, if the source has one there, is that of the
        // end.
        client_->End();
      }
      return;
    }
    // As a caller that waits for room.
    if (client_->unsent_sequences() > kUnsentBatches * batch_sequences_) return;
    const uint64_t size = std::min(UpTo(kMostAdded), stop - given);
    FailUnlessOk(client_->Add(
        absl::MakeConstSpan(history_.lengths).subspan(given, size)));
  }

  void TakePacks() { history_.lives.back().taken.Append(client_->Take()); }

  void SaveOwner() {
    if (bug_ == Bug::kSavesBeforeTaking) client_->Take();
    saved_ = client_->Save();
    saved_flushed_ = flushed_;
    CheckPosition(client_->position());
  }

  // Against what the owner has really taken, of the lives that count.
  void CheckPosition(const StreamPosition& position) {
    if (bug_ != Bug::kNone) return;
    std::vector<uint64_t> missing(history_.lengths.size());
    for (uint64_t i = 0; i < position.given; ++i) {
      missing[i] = UnitCount(history_.spec, history_.lengths[i]);
    }
    Packs packs;
    for (const Life& life : history_.lives) {
      packs = packs.Slice(0, life.first_pack - 1);
      packs.Append(life.taken);
    }
    for (const uint64_t ordinal : packs.ordinals) --missing[ordinal];
    uint64_t from = 0;
    while (from < position.given && missing[from] == 0) ++from;
    std::vector<uint64_t> done;
    for (uint64_t i = from; i < position.given; ++i) {
      if (missing[i] == 0) done.push_back(i);
    }
    if (position.packs != packs.size() || position.read_from != from ||
        position.done_after != done) {
      Fail("the position is pack ", position.packs, ", sequence ",
           position.read_from, " and ", position.done_after.size(),
           " after it; taken were pack ", packs.size(), ", sequence ", from,
           " and ", done.size(), " after it");
    }
  }

  void NewOwner(const std::string& state) {
    if (state.empty()) {
      client_ = std::make_unique<ClientSession>(history_.spec, batch_sequences_,
                                                "stream");
      flushed_ = 0;
    } else {
      absl::StatusOr<ClientSession> client =
          ClientSession::Restore(history_.spec, batch_sequences_, state);
      if (!client.ok()) return Fail(client.status().ToString());
      client_ = std::make_unique<ClientSession>(*std::move(client));
      flushed_ = saved_flushed_;
    }
    Life life;
    life.first_pack = client_->position().packs + 1;
    if (bug_ == Bug::kMiscountsTaken && !history_.lives.empty()) {
      const Life& last = history_.lives.back();
      life.first_pack = last.first_pack + last.taken.size();
    }
    history_.lives.push_back(life);
    link_ = nullptr;
  }

  void Connect() {
    const size_t server = UpTo(kServers) - 1;
    if (!up_[server]) return;
    ++outcome_.connections;
    client_->Connect(++incarnation_);
    links_.emplace_back(server, limits_);
    link_ = &links_.back();
  }

  void ClientSends() {
    if (link_ == nullptr) {
      if (client_->needs_connection()) Connect();
      return;
    }
    absl::optional<Request> request = client_->NextRequest();
    if (!request.has_value()) return;
    if (const Batch* batch = std::get_if<Batch>(&*request)) {
      history_.peaks[4].See(
          batch->lengths.size(),
          std::min(batch_sequences_, limits_.max_batch_sequences));
    }
    if (const Open* open = std::get_if<Open>(&*request);
        open != nullptr && open->resume.has_value() &&
        !open->resume->state.empty()) {
      ++outcome_.resumed_from_snapshots;
    }
    link_->to_server.push_back(*std::move(request));
    uint64_t inputs = 0;
    uint64_t sequences = 0;
    for (const Request& queued : link_->to_server) {
      if (!std::holds_alternative<Open>(queued)) ++inputs;
      if (const Batch* batch = std::get_if<Batch>(&queued)) {
        sequences += batch->lengths.size();
      }
    }
    history_.peaks[1].See(inputs, limits_.credit_inputs);
    history_.peaks[2].See(sequences, limits_.credit_sequences);
    // What the server takes before it hands out a snapshot, what the credit
    // lets on the way, and what the owner ran ahead; twice, as a buffer may be.
    history_.peaks[0].See(
        client_->kept_sequences(),
        2 * (SnapshotSequences(history_.spec, limits_) +
             limits_.max_batch_sequences + limits_.credit_sequences +
             kUnsentBatches * batch_sequences_ + kMostAdded));
  }

  void ServerMoves() {
    std::vector<Link*> ready;
    for (Link& link : links_) {
      if (link.open_at_server && !link.to_server.empty() &&
          (link.queued_units() <= queue_limit_ ||
           bug_ == Bug::kReadsWithoutEnd)) {
        ready.push_back(&link);
      }
    }
    if (ready.empty()) return;
    Link& link = *ready[UpTo(ready.size()) - 1];
    const Request request = std::move(link.to_server.front());
    link.to_server.pop_front();
    if (const Open* open = std::get_if<Open>(&request)) {
      if (!Claim(*open, &link)) return;
    }
    Take(request, &link);
    // Now and then one comes twice, as from a client that is not sure.
    if (link.open_at_server && !link.session.ended() && UpTo(20) == 1 &&
        !std::holds_alternative<Open>(request)) {
      Take(request, &link);
    }
    if (link.session.ended()) EndAtServer(&link, absl::OkStatus());
  }

  void Take(Request request, Link* link) {
    if (bug_ == Bug::kAnotherRule && link->server == 1) {
      if (Open* open = std::get_if<Open>(&request)) {
        if (open->resume.has_value()) open->resume->state.clear();
        open->spec.algorithm = "spfhp";
        open->spec.effort = Effort::kBalanced;
        open->spec.max_displacement = 0;
        open->spec.window_sequences = 1;
      }
    }
    std::vector<Response> responses;
    const uint64_t waiting = link->queued_units();
    const absl::Status status = link->session.Receive(request, &responses);
    if (!status.ok()) {
      // Such as a state that a broken rule has made.
      EndAtServer(link, status);
      return;
    }
    for (Response& response : responses) Queue(std::move(response), link);
    // What one input decides comes on top: a window and a batch, with pieces.
    const uint64_t most_pieces =
        history_.spec.overlong == Overlong::kSplit ? 5 : 1;
    history_.peaks[3].See(
        std::max(waiting, link->queued_units()),
        queue_limit_ + static_cast<uint64_t>(history_.spec.window_sequences) +
            limits_.max_batch_sequences * most_pieces);
  }

  // A transport may drop a credit that has not been sent when a later one is
  // behind it.
  void Queue(Response response, Link* link) {
    std::deque<Response>& queue = link->to_client;
    if (response.credit.has_value() && !queue.empty() && UpTo(2) == 1) {
      Response& last = queue.back();
      if (!std::holds_alternative<Opened>(last.event)) last.credit.reset();
      if (std::holds_alternative<std::monostate>(last.event)) queue.pop_back();
    }
    queue.push_back(std::move(response));
  }

  // Of two connections with one stream the later incarnation has it.
  bool Claim(const Open& open, Link* newcomer) {
    newcomer->incarnation = open.incarnation;
    for (Link& other : links_) {
      if (&other == newcomer || other.server != newcomer->server ||
          !other.open_at_server || other.incarnation == 0) {
        continue;
      }
      const bool newcomer_wins = other.incarnation < newcomer->incarnation;
      ++outcome_.fenced;
      EndAtServer(newcomer_wins ? &other : newcomer,
                  absl::AbortedError("fenced"));
      if (!newcomer_wins) return false;
    }
    return true;
  }

  void EndAtServer(Link* link, const absl::Status& status) {
    link->open_at_server = false;
    link->to_server.clear();
    link->end = status;
  }

  void ClientReceives() {
    if (link_ == nullptr) return;
    if (!link_->to_client.empty()) {
      // Some do not read for a long time.
      if (slow_steps_ > 0) {
        --slow_steps_;
        return;
      }
      const Response response = std::move(link_->to_client.front());
      link_->to_client.pop_front();
      FailUnlessOk(client_->Receive(response));
      // With another server to go to a client leaves.
      if (client_->draining() && UpTo(2) == 1) CutAtClient();
      return;
    }
    if (!link_->end.has_value()) return;
    const absl::Status end = *link_->end;
    if (end.ok()
            ? !client_->ended()
            : !absl::IsUnavailable(end) && !absl::IsDeadlineExceeded(end)) {
      Fail("the server ended the stream with ", end.ToString());
    }
    CutAtClient();
  }

  // The client looks at the connection no more; its server may, for a while.
  void CutAtClient() {
    link_->open_at_client = false;
    link_ = nullptr;
  }

  // --- What breaks ---------------------------------------------------------

  void Break() {
    switch (UpTo(8)) {
      case 1:  // The network, for the client.
        if (link_ == nullptr) break;
        // Of what is on the way to the server some still arrives.
        while (!link_->to_server.empty() && UpTo(3) != 1) {
          link_->to_server.pop_back();
        }
        CutAtClient();
        break;
      case 2: {  // The network, for the server: the client gets the beginning.
        if (link_ == nullptr || !link_->open_at_server) break;
        EndAtServer(link_, absl::UnavailableError("cut"));
        CutTail(link_);
        break;
      }
      case 3:
        KillServer(UpTo(kServers) - 1);
        break;
      case 4:  // A server comes back.
        for (bool& up : up_) up = true;
        break;
      case 5: {  // A server drains, and ends what does not leave.
        if (link_ == nullptr || !link_->open_at_server) break;
        std::vector<Response> responses;
        link_->session.Drain(1, &responses);
        for (Response& response : responses) Queue(std::move(response), link_);
        if (UpTo(2) == 1) {
          EndAtServer(link_, absl::UnavailableError("stopping"));
        }
        break;
      }
      case 6: {  // A stream was idle for too long.
        if (link_ == nullptr || !link_->open_at_server) break;
        std::vector<Response> responses;
        link_->session.AppendSnapshot(&responses);
        for (Response& response : responses) Queue(std::move(response), link_);
        EndAtServer(link_, absl::DeadlineExceededError("idle"));
        break;
      }
      case 7:  // The client reads nothing for a while.
        slow_steps_ = UpTo(200);
        break;
      case 8:  // The owner.
        ++outcome_.owner_deaths;
        if (link_ != nullptr) CutAtClient();
        NewOwner(saved_);
        break;
    }
    if (!up_[0] && !up_[1]) up_[UpTo(kServers) - 1] = true;
  }

  void KillServer(size_t server) {
    ++outcome_.server_deaths;
    up_[server] = UpTo(2) == 1;
    for (Link& link : links_) {
      if (link.server != server || !link.open_at_server) continue;
      EndAtServer(&link, absl::UnavailableError("died"));
      CutTail(&link);
    }
  }

  void CutTail(Link* link) {
    while (!link->to_client.empty() && UpTo(3) != 1) {
      link->to_client.pop_back();
    }
  }

  static constexpr uint64_t kUnsentBatches = 2;
  static constexpr uint64_t kMostAdded = 10;  // in one call

  std::mt19937_64 random_;
  const Bug bug_;
  History history_;
  SessionLimits limits_;
  uint32_t batch_sequences_ = 1;
  uint64_t queue_limit_ = 1;
  uint64_t faults_left_ = 0;
  uint64_t slow_steps_ = 0;  // in which the client does not read

  std::unique_ptr<ClientSession> client_;
  uint64_t flushed_ = 0;  // up to this ordinal
  std::string saved_;     // none yet where it is empty
  uint64_t saved_flushed_ = 0;
  uint64_t incarnation_ = 0;
  std::list<Link> links_;
  Link* link_ = nullptr;  // the one that the client has
  bool up_[kServers] = {true, true};

  bool finished_ = false;
  std::string error_;
  Outcome outcome_;
};

}  // namespace

Outcome RunWorld(uint64_t seed, Bug bug) { return World(seed, bug).Run(); }

}  // namespace packhouse
