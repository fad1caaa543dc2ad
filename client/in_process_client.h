// The client whose packer runs in this process.

#ifndef PACKHOUSE_CLIENT_IN_PROCESS_CLIENT_H_
#define PACKHOUSE_CLIENT_IN_PROCESS_CLIENT_H_

#include <memory>

#include "packhouse/client.h"

namespace packhouse {

// Requires options that Client::Create has checked.
std::unique_ptr<Client> MakeInProcessClient(const ClientOptions& options);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_IN_PROCESS_CLIENT_H_
