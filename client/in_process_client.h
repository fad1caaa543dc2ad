// The client whose packer runs in this process.

#ifndef PACKHOUSE_CLIENT_IN_PROCESS_CLIENT_H_
#define PACKHOUSE_CLIENT_IN_PROCESS_CLIENT_H_

#include <memory>

#include "packhouse/client.h"

namespace packhouse {

std::unique_ptr<Client> MakeInProcessClient();

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_IN_PROCESS_CLIENT_H_
