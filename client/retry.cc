#include "client/retry.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace packhouse {
namespace {

constexpr absl::Duration kFirstLimit = absl::Milliseconds(50);
constexpr absl::Duration kMaxLimit = absl::Seconds(2);

// True if `details`, a google.rpc.Status, has a google.rpc.RetryInfo among its
// details (field 3, each a google.protobuf.Any). No Debian package has that
// message for C++, and this is all that is asked of it.
bool HasRetryInfo(const std::string& details) {
  constexpr int kDetailsField = 3;
  google::protobuf::Empty status;  // all of it is unknown to this one
  if (!status.ParseFromString(details)) return false;
  const google::protobuf::UnknownFieldSet& fields =
      status.GetReflection()->GetUnknownFields(status);
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    google::protobuf::Any detail;
    if (field.number() == kDetailsField &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
        detail.ParseFromString(field.length_delimited()) &&
        absl::EndsWith(detail.type_url(), "/google.rpc.RetryInfo")) {
      return true;
    }
  }
  return false;
}

// True for what gRPC or a proxy says of a connection that broke.
bool IsBroken(absl::StatusCode code) {
  return code == absl::StatusCode::kCancelled ||
         code == absl::StatusCode::kInternal ||
         code == absl::StatusCode::kUnknown;
}

// `text`, or the first bytes of it.
std::string Shortened(std::string text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  text.resize(max_bytes);
  return text + "...";
}

}  // namespace

bool IsWorthRetry(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return true;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return HasRetryInfo(status.error_details());
    default:
      return IsBroken(static_cast<absl::StatusCode>(status.error_code())) &&
             status.error_details().empty();
  }
}

absl::Status OnlyTryFailed(const absl::Status& cause) {
  return IsBroken(cause.code()) || absl::IsResourceExhausted(cause)
             ? absl::UnavailableError(cause.message())
             : cause;
}

Backoff::Backoff() : limit_(kFirstLimit), random_(std::random_device()()) {}

absl::Duration Backoff::Next() {
  const absl::Duration limit = limit_;
  limit_ = std::min(2 * limit_, kMaxLimit);
  return limit * std::uniform_real_distribution<double>(0, 1)(random_);
}

void Backoff::Reset() { limit_ = kFirstLimit; }

absl::Status NobodyAnswered(const std::vector<RemoteServer>& targets,
                            absl::Duration tried_for,
                            const absl::Status& last) {
  constexpr size_t kMaxCauseBytes = 700;
  constexpr size_t kMaxNamesBytes = 1000;
  const std::string names = absl::StrJoin(
      targets, ", ", [](std::string* out, const RemoteServer& target) {
        out->append(target.name());
      });
  return absl::Status(
      absl::IsDeadlineExceeded(last) ? absl::StatusCode::kDeadlineExceeded
                                     : absl::StatusCode::kUnavailable,
      absl::StrCat(Shortened(std::string(last.message()), kMaxCauseBytes),
                   " (no server answered for ", absl::FormatDuration(tried_for),
                   "; tried: ", Shortened(names, kMaxNamesBytes), ")"));
}

}  // namespace packhouse
