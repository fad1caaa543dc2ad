#include "server/bind_failure.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace packhouse {

absl::Status ExplainBindFailure(const Address& address) {
  auto failure = [&](absl::string_view reason) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot listen on ", address.ToString(), ": ", reason));
  };
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(
      address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (error != 0) return failure(gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found,
                                                                 freeaddrinfo);
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    const int fd = socket(info->ai_family, info->ai_socktype, 0);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    // Two sockets with SO_REUSEADDR may bind one port; only one may listen.
    const int bind_error =
        bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, 1) != 0
            ? errno
            : 0;
    close(fd);
    if (bind_error != 0) return failure(std::strerror(bind_error));
  }
  return failure("the address could not be bound");
}

}  // namespace packhouse
