// What stands for a client in a build without gRPC, such as that of the Python
// package: the commands that need a server say so.

#include <memory>
#include <ostream>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/commands.h"
#include "client/cli/service_load.h"
#include "packhouse/client.h"

namespace packhouse {
namespace {

absl::Status NoService() {
  return absl::InvalidArgumentError(
      "this packhouse was built without gRPC and reaches no server: plan, "
      "verify, advise, masks and bench packing work in this process");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Create(const ClientOptions&) {
  return NoService();
}

absl::StatusOr<LoadResult> RunLoad(const LoadQuery&,
                                   const std::vector<uint32_t>&) {
  return NoService();
}

absl::Status RunStatus(const CommandOptions&, std::ostream&) {
  return NoService();
}

}  // namespace packhouse
