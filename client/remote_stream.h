// A stream whose packer runs in a packhoused, whichever of several.

#ifndef PACKHOUSE_CLIENT_REMOTE_STREAM_H_
#define PACKHOUSE_CLIENT_REMOTE_STREAM_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "client/remote_server.h"
#include "packhouse/client.h"
#include "session/client_session.h"

namespace packhouse {

// Waits until one of `targets`, of which there is at least one, has the stream.
// Requires options that Client::Create has checked.
absl::StatusOr<std::unique_ptr<PackStream>> StartRemoteStream(
    const std::vector<RemoteServer>& targets, const PackSpec& spec,
    const ClientOptions& options, ClientSession session);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_REMOTE_STREAM_H_
