// The client whose packer runs in a packhoused, one of several.

#ifndef PACKHOUSE_CLIENT_REMOTE_CLIENT_H_
#define PACKHOUSE_CLIENT_REMOTE_CLIENT_H_

#include <memory>
#include <vector>

#include "net/address.h"
#include "packhouse/client.h"

namespace packhouse {

// Requires options that Client::Create has checked. Nothing of gRPC starts
// before the first call.
std::unique_ptr<Client> MakeRemoteClient(std::vector<Address> targets,
                                         const ClientOptions& options);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_REMOTE_CLIENT_H_
