// `packhouse status`: what a packhoused says of itself and of its streams.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/commands.h"
#include "client/cli/report_text.h"
#include "client/remote_server.h"
#include "client/targets.h"
#include "net/address.h"
#include "nlohmann/json.hpp"
#include "packhouse/v1/admin.grpc.pb.h"
#include "session/codec/codec.h"

namespace packhouse {
namespace {

using Json = nlohmann::ordered_json;

// All pages in one answer.
absl::StatusOr<v1::GetStatusResponse> GetStatus(const RemoteServer& server,
                                                absl::Duration limit) {
  const auto stub = v1::AdminService::NewStub(server.channel());
  v1::GetStatusResponse all;
  v1::GetStatusRequest request;
  do {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + limit));
    v1::GetStatusResponse page;
    const grpc::Status status = stub->GetStatus(&context, request, &page);
    if (status.error_code() == grpc::DEADLINE_EXCEEDED) {
      return server.Silent(limit);
    }
    if (!status.ok()) return server.Error(status);
    *all.mutable_server() = page.server();
    for (v1::StreamStatus& stream : *page.mutable_streams()) {
      all.add_streams()->Swap(&stream);
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

// Of the first target that answers.
absl::StatusOr<v1::GetStatusResponse> GetStatus(const ClientOptions& options) {
  const auto targets = ParseTargets(options);
  if (!targets.ok()) return targets.status();
  absl::Status status;
  for (const Address& target : *targets) {
    const auto server = RemoteServer::Create(target, options.tls);
    if (!server.ok()) return server.status();
    auto answer = GetStatus(*server, options.answer_within);
    if (answer.ok()) return answer;
    status = answer.status();
  }
  return status;
}

Json ServerJson(const v1::ServerStatus& server) {
  const v1::StreamLimits& limits = server.limits();
  return {
      {"version", server.version()},
      {"incarnation", server.incarnation()},
      {"start_time",
       absl::FormatTime(absl::RFC3339_sec,
                        absl::FromUnixSeconds(server.start_time().seconds()),
                        absl::UTCTimeZone())},
      {"pid", server.pid()},
      {"draining", server.draining()},
      {"cpu_seconds", server.cpu_seconds()},
      {"resident_bytes", server.resident_bytes()},
      {"committed_bytes", server.committed_bytes()},
      {"max_memory_bytes", server.max_memory_bytes()},
      {"stream_count", server.stream_count()},
      {"max_streams", server.max_streams()},
      {"packing_threads", server.packing_threads()},
      {"busy_packing_threads", server.busy_packing_threads()},
      {"queued_jobs", server.queued_jobs()},
      {"limits",
       {{"max_window_sequences", limits.max_window_sequences()},
        {"max_batch_sequences", limits.max_batch_sequences()},
        {"max_plan_sequences", limits.max_plan_sequences()},
        {"credit_inputs", limits.credit_inputs()},
        {"credit_sequences", limits.credit_sequences()},
        {"idle_timeout_seconds", limits.idle_timeout_seconds()}}}};
}

Json StreamJson(const v1::StreamStatus& stream) {
  Json json = {{"stream_id", stream.stream_id()},
               {"incarnation", stream.incarnation()},
               {"peer", stream.peer()}};
  if (stream.has_spec()) {
    const PackSpec spec = Decode(stream.spec());
    json["algorithm"] = spec.algorithm;
    json["capacity"] = spec.capacity_tokens;
    json["window"] = spec.window_sequences;
  }
  json.update(Json{{"received_number", stream.received_number()},
                   {"max_number", stream.max_number()},
                   {"max_sequences", stream.max_sequences()},
                   {"sequences", stream.sequences()},
                   {"packs", stream.packs()},
                   {"pending_units", stream.pending_units()},
                   {"age_seconds", stream.age_seconds()},
                   {"idle_seconds", stream.idle_seconds()},
                   {"queued_units", stream.queued_units()},
                   {"busy", stream.busy()},
                   {"snapshots", stream.snapshots()},
                   {"resumed", stream.resumed()},
                   {"memory_bound_bytes", stream.memory_bound_bytes()}});
  return json;
}

// "12.3 MiB".
std::string Bytes(int64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? absl::StrFormat("%.1f MiB", mib)
                    : absl::StrFormat("%.1f GiB", mib / 1024);
}

// "2h3m", "5m7s" or "8.1s".
std::string Age(double seconds) {
  if (seconds < 60) return absl::StrFormat("%.1fs", seconds);
  const int64_t whole = static_cast<int64_t>(seconds);
  return whole < 3600
             ? absl::StrFormat("%dm%ds", whole / 60, whole % 60)
             : absl::StrFormat("%dh%dm", whole / 3600, whole % 3600 / 60);
}

std::string ServerText(const v1::ServerStatus& server) {
  const double up = absl::ToDoubleSeconds(
      absl::Now() - absl::FromUnixSeconds(server.start_time().seconds()));
  std::string text = absl::StrFormat(
      "packhoused %s, pid %d, up %s, %s\n", server.version(), server.pid(),
      Age(std::max(0.0, up)), server.draining() ? "stopping" : "serving");
  absl::StrAppendFormat(&text, "streams  %s of %s\n",
                        Grouped(server.stream_count()),
                        Grouped(server.max_streams()));
  absl::StrAppendFormat(&text, "memory   %s of %s committed, %s resident\n",
                        Bytes(server.committed_bytes()),
                        Bytes(server.max_memory_bytes()),
                        Bytes(server.resident_bytes()));
  absl::StrAppendFormat(&text, "packing  %d of %d threads busy, %s waiting\n",
                        server.busy_packing_threads(), server.packing_threads(),
                        Grouped(server.queued_jobs()));
  absl::StrAppendFormat(&text, "cpu      %.2f s\n", server.cpu_seconds());
  return text;
}

using Row = std::vector<std::string>;

// Columns as wide as they need; the first to the left, numbers to the right.
std::string TableText(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      if (i > 0) absl::StrAppend(&text, "  ", padding);
      text += row[i];
      if (i == 0) text += padding;
    }
    text += '\n';
  }
  return text;
}

std::string StreamsText(const v1::GetStatusResponse& status) {
  if (status.streams_size() == 0) return "";
  std::vector<Row> rows = {{"stream", "rule", "window", "sequences", "packs",
                            "pending", "unread", "age", "idle", "memory"}};
  for (const v1::StreamStatus& stream : status.streams()) {
    // A client chose the name.
    const std::string name = stream.stream_id().empty()
                                 ? stream.peer()
                                 : absl::CEscape(stream.stream_id());
    const PackSpec spec = Decode(stream.spec());
    rows.push_back({name, stream.has_spec() ? RuleLabel(spec) : "not open",
                    stream.has_spec() ? Grouped(spec.window_sequences) : "-",
                    Grouped(stream.sequences()), Grouped(stream.packs()),
                    Grouped(stream.pending_units()),
                    Grouped(stream.queued_units()), Age(stream.age_seconds()),
                    Age(stream.idle_seconds()),
                    Bytes(stream.memory_bound_bytes())});
  }
  return absl::StrCat("\n", TableText(rows));
}

}  // namespace

absl::Status RunStatus(const CommandOptions& options, std::ostream& out) {
  const absl::StatusOr<v1::GetStatusResponse> status =
      GetStatus(options.client);
  if (!status.ok()) return status.status();
  if (options.json) {
    Json json = {{"server", ServerJson(status->server())},
                 {"streams", Json::array()}};
    for (const v1::StreamStatus& stream : status->streams()) {
      json["streams"].push_back(StreamJson(stream));
    }
    out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
  } else {
    out << ServerText(status->server()) << StreamsText(*status);
  }
  return absl::OkStatus();
}

}  // namespace packhouse
