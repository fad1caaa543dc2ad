#include "server/socket_access.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace packhouse {
namespace {

constexpr mode_t kFolderMode = 0770;

absl::Status Failure(const std::string& socket_path, absl::string_view what) {
  const absl::string_view reason = std::strerror(errno);
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot listen on unix:", socket_path, ": ", what, ": ", reason));
}

// The group first: a mode must not be open to one that is about to go.
absl::Status SetAccess(const std::string& socket_path, const std::string& file,
                       absl::string_view kind, mode_t mode,
                       const absl::optional<gid_t>& group) {
  if (group.has_value() &&
      chown(file.c_str(), static_cast<uid_t>(-1), *group) != 0) {
    return Failure(socket_path, absl::StrCat("cannot give the ", kind,
                                             " to the group ", *group));
  }
  if (chmod(file.c_str(), mode) != 0) {
    return Failure(socket_path,
                   absl::StrFormat("cannot set the mode of the %s to %04o",
                                   kind, static_cast<unsigned>(mode)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<gid_t> FindGroup(const std::string& name_or_gid) {
  constexpr size_t kShownBytes = 200;
  const auto unknown = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        "group \"", absl::CEscape(name_or_gid.substr(0, kShownBytes)),
        name_or_gid.size() > kShownBytes ? "\"...: " : "\": ", why));
  };
  if (!name_or_gid.empty() &&
      std::all_of(name_or_gid.begin(), name_or_gid.end(),
                  absl::ascii_isdigit)) {
    // The largest one means "none" to chown.
    constexpr uint32_t kMaxGid = std::numeric_limits<gid_t>::max() - 1;
    uint32_t gid = 0;
    if (absl::SimpleAtoi(name_or_gid, &gid) && gid <= kMaxGid) return gid;
    return unknown(absl::StrCat("a number is from 0 to ", kMaxGid));
  }
  // Members come with the entry, so that large groups need large buffers.
  constexpr size_t kMaxEntryBytes = 1 << 20;
  for (size_t bytes = 1024; bytes <= kMaxEntryBytes; bytes *= 2) {
    std::vector<char> buffer(bytes);
    group entry;
    group* found = nullptr;
    const int error = getgrnam_r(name_or_gid.c_str(), &entry, buffer.data(),
                                 buffer.size(), &found);
    if (error == ERANGE) continue;
    if (found != nullptr) return found->gr_gid;
    return unknown(error == 0 ? "there is no such group"
                              : std::strerror(error));
  }
  return unknown("its entry is too long");
}

absl::Status MakeSocketFolder(const std::string& socket_path,
                              const SocketAccess& access) {
  const size_t slash = socket_path.rfind('/');
  if (slash == std::string::npos || slash == 0) return absl::OkStatus();
  const std::string folder = socket_path.substr(0, slash);
  if (mkdir(folder.c_str(), kFolderMode) != 0) {
    if (errno == EEXIST) return absl::OkStatus();
    return Failure(socket_path,
                   absl::StrCat("cannot create the folder ", folder));
  }
  absl::Status status =
      SetAccess(socket_path, folder, "folder", kFolderMode, access.group);
  // Or the next start would take it as it is.
  if (!status.ok()) rmdir(folder.c_str());
  return status;
}

absl::Status SetSocketAccess(const std::string& socket_path,
                             const SocketAccess& access) {
  return SetAccess(socket_path, socket_path, "socket", access.mode,
                   access.group);
}

}  // namespace packhouse
