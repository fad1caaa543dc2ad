#include "server/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace packhouse {
namespace {

constexpr size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;

// What of a wrong address an error repeats.
std::string Shown(absl::string_view text) {
  constexpr size_t kLimit = 200;
  if (text.size() <= kLimit) return std::string(text);
  return absl::StrCat(text.substr(0, kLimit), "...");
}

absl::StatusOr<Address> ParseUnix(absl::string_view path) {
  if (path.empty()) {
    return absl::InvalidArgumentError("address unix: has no path");
  }
  if (path.size() > kMaxPathBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("socket path has ", path.size(), " bytes, at most ",
                     kMaxPathBytes, " are possible: ", Shown(path)));
  }
  Address address;
  address.path = std::string(path);
  return address;
}

absl::StatusOr<Address> ParseTcp(absl::string_view text) {
  absl::Status malformed = absl::InvalidArgumentError(
      absl::StrCat("address ", Shown(text),
                   " is neither unix:PATH nor HOST:PORT (IPv6: [::1]:PORT)"));
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return malformed;
  absl::string_view host = text.substr(0, colon);
  const absl::string_view port = text.substr(colon + 1);

  if (absl::ConsumePrefix(&host, "[")) {
    in6_addr ignored;
    if (!absl::ConsumeSuffix(&host, "]") ||
        inet_pton(AF_INET6, std::string(host).c_str(), &ignored) != 1) {
      return malformed;
    }
  } else if (host.empty() || host.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
                                                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                    "0123456789.-_") !=
                                 absl::string_view::npos) {
    return malformed;
  }

  uint32_t number;
  if (port.empty() || !absl::ascii_isdigit(port[0]) ||
      !absl::SimpleAtoi(port, &number) || number > UINT16_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("address ", Shown(text),
                     ": the port must be a number from 0 to ", UINT16_MAX));
  }
  Address address;
  address.host = std::string(host);
  address.port = static_cast<uint16_t>(number);
  return address;
}

}  // namespace

bool Address::is_local() const {
  if (is_unix() || host == "localhost" || host == "::1") return true;
  in_addr v4;
  return inet_pton(AF_INET, host.c_str(), &v4) == 1 &&
         ntohl(v4.s_addr) >> 24 == 127;
}

std::string Address::ToString() const {
  if (is_unix()) return absl::StrCat("unix:", path);
  if (absl::StrContains(host, ':')) return absl::StrCat("[", host, "]:", port);
  return absl::StrCat(host, ":", port);
}

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  if (absl::ConsumePrefix(&text, "unix:")) return ParseUnix(text);
  return ParseTcp(text);
}

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
