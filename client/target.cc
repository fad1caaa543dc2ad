#include "client/target.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace packhouse {
namespace {

constexpr size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;

// gRPC takes targets for URIs, in which a blank or a percent sign of a path
// has to be escaped.
std::string EscapePath(absl::string_view path) {
  std::string escaped;
  for (const char c : path) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '/' ||
        c == '.' || c == '-' || c == '_') {
      escaped += c;
    } else {
      absl::StrAppend(&escaped, "%",
                      absl::Hex(static_cast<uint8_t>(c), absl::kZeroPad2));
    }
  }
  return escaped;
}

absl::Status Malformed(absl::string_view name, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("target \"", absl::CEscape(name.substr(0, 200)), "\": ", why,
                   "; a target is unix:PATH, HOST:PORT or [IPV6]:PORT"));
}

absl::StatusOr<Target> ParseUnix(absl::string_view name,
                                 absl::string_view path) {
  if (path.empty()) return Malformed(name, "the path is empty");
  if (path.size() > kMaxPathBytes) {
    return Malformed(
        name, absl::StrCat("the path has ", path.size(),
                           " bytes, the system takes at most ", kMaxPathBytes));
  }
  Target target;
  target.name = std::string(name);
  // Two slashes would begin the name of a host.
  if (absl::ConsumePrefix(&path, "/")) {
    while (absl::ConsumePrefix(&path, "/")) {
    }
    target.uri = absl::StrCat("unix:/", EscapePath(path));
  } else {
    target.uri = absl::StrCat("unix:", EscapePath(path));
  }
  target.local = true;
  return target;
}

bool IsIpv4Loopback(const std::string& host) {
  in_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 &&
         ntohl(address.s_addr) >> 24 == 127;
}

absl::StatusOr<Target> ParseTcp(absl::string_view name) {
  const size_t colon = name.rfind(':');
  if (colon == absl::string_view::npos) return Malformed(name, "no port");
  absl::string_view host = name.substr(0, colon);
  const absl::string_view port = name.substr(colon + 1);
  uint32_t number = 0;
  if (port.empty() || !absl::ascii_isdigit(port[0]) ||
      !absl::SimpleAtoi(port, &number) || number < 1 || number > UINT16_MAX) {
    return Malformed(name, "the port is not a number from 1 to 65535");
  }

  Target target;
  target.name = std::string(name);
  if (absl::ConsumePrefix(&host, "[")) {
    const bool closed = absl::ConsumeSuffix(&host, "]");
    in6_addr address;
    if (!closed ||
        inet_pton(AF_INET6, std::string(host).c_str(), &address) != 1) {
      return Malformed(name, "no IPv6 address in the brackets");
    }
    target.uri = absl::StrCat("ipv6:%5B", host, "%5D:", number);
    target.local = IN6_IS_ADDR_LOOPBACK(&address);
    return target;
  }
  if (host.empty()) return Malformed(name, "the host is empty");
  for (const char c : host) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-' &&
        c != '.' && c != '_') {
      return Malformed(name, "the host is not a name or an address");
    }
  }
  target.uri = absl::StrCat("dns:///", host, ":", number);
  target.local = host == "localhost" || IsIpv4Loopback(std::string(host));
  return target;
}

}  // namespace

absl::StatusOr<Target> ParseTarget(absl::string_view name) {
  absl::string_view path = name;
  if (absl::ConsumePrefix(&path, "unix:")) return ParseUnix(name, path);
  return ParseTcp(name);
}

}  // namespace packhouse
