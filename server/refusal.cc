#include "server/refusal.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "session/messages.h"
#include "session/reason.h"

namespace packhouse {
namespace {

// After this a stream or a plan of another may have ended.
constexpr absl::Duration kFullRetry = absl::Seconds(1);

void SetDuration(absl::Duration duration, google::protobuf::Duration* message) {
  message->set_seconds(
      absl::IDivDuration(duration, absl::Seconds(1), &duration));
  message->set_nanos(static_cast<int>(absl::ToInt64Nanoseconds(duration)));
}

}  // namespace

absl::Status Stopping() {
  return WithReason(absl::UnavailableError("the server is stopping"),
                    {"STOPPING", {}, absl::ZeroDuration()});
}

absl::Status ServerFull(absl::string_view what, uint64_t value,
                        uint64_t limit) {
  return WithReason(absl::ResourceExhaustedError(
                        absl::StrCat("the server is full: ", what, " would be ",
                                     value, ", may be ", limit)),
                    {"SERVER_FULL",
                     {{"what", std::string(what)},
                      {"value", absl::StrCat(value)},
                      {"limit", absl::StrCat(limit)}},
                     kFullRetry});
}

absl::Status Fenced(uint64_t incarnation, uint64_t winner) {
  return WithReason(absl::AbortedError(absl::StrCat(
                        "incarnation ", winner,
                        " of this stream has it, this one is ", incarnation)),
                    {"FENCED",
                     {{"incarnation", absl::StrCat(incarnation)},
                      {"winner", absl::StrCat(winner)}}});
}

absl::Status Idle(absl::Duration limit) {
  return WithReason(
      absl::DeadlineExceededError(absl::StrCat(
          "nothing came for ", absl::FormatDuration(limit), "; resume")),
      {"IDLE", {{"limit", absl::FormatDuration(limit)}}});
}

absl::Status ClosedBeforeEnd() {
  return WithReason(
      absl::FailedPreconditionError(
          "the client closed its side, or sent something that does not parse, "
          "before `end`"),
      {"PROTOCOL_VIOLATION"});
}

absl::Status ClientGone() {
  return absl::CancelledError(
      absl::StrCat("the client went away, or sent a message of more than ",
                   kMaxMessageBytes >> 20, " MiB"));
}

grpc::Status ToGrpc(const absl::Status& status) {
  // Both libraries have the codes of google.rpc.Code.
  const auto code = static_cast<grpc::StatusCode>(status.code());
  const std::string message(status.message());
  const absl::optional<Reason> reason = ReasonOf(status);
  if (!reason.has_value()) return grpc::Status(code, message);

  google::rpc::Status details;
  details.set_code(code);
  details.set_message(message);
  google::rpc::ErrorInfo info;
  info.set_reason(reason->name);
  info.set_domain("packhouse");
  info.mutable_metadata()->insert(reason->metadata.begin(),
                                  reason->metadata.end());
  details.add_details()->PackFrom(info);
  if (reason->retry_after.has_value()) {
    google::rpc::RetryInfo retry;
    SetDuration(*reason->retry_after, retry.mutable_retry_delay());
    details.add_details()->PackFrom(retry);
  }
  return grpc::Status(code, message, details.SerializeAsString());
}

}  // namespace packhouse
