// The names of streams.

#ifndef PACKHOUSE_CLIENT_STREAM_ID_H_
#define PACKHOUSE_CLIENT_STREAM_ID_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "packhouse/spec.h"

namespace packhouse {

// INVALID_ARGUMENT where a stream of this spec and name cannot be opened.
absl::Status CheckStream(const PackSpec& spec, absl::string_view stream_id);

// `stream_id`, or 16 random bytes in hexadecimal where it is empty.
std::string StreamId(absl::string_view stream_id);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_STREAM_ID_H_
