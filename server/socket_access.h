// Who may connect to a Unix socket: whoever may write to its file, so its mode
// and its group say it, and those of the folder that it is in.

#ifndef PACKHOUSE_SERVER_SOCKET_ACCESS_H_
#define PACKHOUSE_SERVER_SOCKET_ACCESS_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"

namespace packhouse {

struct SocketAccess {
  mode_t mode = 0660;
  absl::optional<gid_t> group;  // else that of the process, or of the folder
};

// A group by its name, or by its number in decimal digits, which need not be
// known here. INVALID_ARGUMENT where there is none.
absl::StatusOr<gid_t> FindGroup(const std::string& name_or_gid);

// Creates the folder that a socket is to be in with mode 0770 and the group,
// where it is missing. Its parents are not created, and a folder that is there
// is left as it is. FAILED_PRECONDITION with the reason; nothing is left then.
absl::Status MakeSocketFolder(const std::string& socket_path,
                              const SocketAccess& access);

// Gives a socket its group, then its mode. FAILED_PRECONDITION with what failed
// and why.
absl::Status SetSocketAccess(const std::string& socket_path,
                             const SocketAccess& access);

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_SOCKET_ACCESS_H_
