// The client whose packer runs in a packhoused.

#ifndef PACKHOUSE_CLIENT_REMOTE_CLIENT_H_
#define PACKHOUSE_CLIENT_REMOTE_CLIENT_H_

#include <memory>

#include "net/address.h"
#include "packhouse/client.h"

namespace packhouse {

// Requires options that Client::Create has checked. Nothing of gRPC starts
// before the first call.
std::unique_ptr<Client> MakeRemoteClient(Address target,
                                         const ClientOptions& options);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_REMOTE_CLIENT_H_
