// Plain structs to generated messages and back: the only place in C++ that
// knows both.
//
// Decoding checks what the types cannot hold (sizes that do not add up) and
// leaves the meaning to the sessions. The message that is filled is reused by
// callers, so every function replaces all of it.

#ifndef PACKHOUSE_SESSION_CODEC_CODEC_H_
#define PACKHOUSE_SESSION_CODEC_CODEC_H_

#include "absl/status/status.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"
#include "packhouse/v1/packhouse.pb.h"
#include "session/messages.h"

namespace packhouse {

void Encode(const PackSpec& spec, v1::Spec* message);
PackSpec Decode(const v1::Spec& message);

void Encode(const Request& request, v1::PackRequest* message);
Request Decode(const v1::PackRequest& message);

void Encode(const Response& response, v1::PackResponse* message);

// INTERNAL where a PackList's sizes and ordinals do not agree or a Refused has
// no valid error code.
absl::Status Decode(const v1::PackResponse& message, Response* response);

// Requires packs that are not empty, with ordinals that ascend in each and span
// less than 2^32 in all: a packer's answer to one input is such.
void Encode(const PackList& list, v1::PackList* message);

// INTERNAL as above; *list is then not to be used.
absl::Status Decode(const v1::PackList& message, PackList* list);

}  // namespace packhouse

#endif  // PACKHOUSE_SESSION_CODEC_CODEC_H_
