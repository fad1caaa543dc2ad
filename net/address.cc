#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace packhouse {
namespace {

constexpr size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;

absl::Status Malformed(absl::string_view text, absl::string_view why) {
  constexpr size_t kShownBytes = 200;
  return absl::InvalidArgumentError(
      absl::StrCat("address \"", absl::CEscape(text.substr(0, kShownBytes)),
                   "\"", text.size() > kShownBytes ? "..." : "", ": ", why,
                   "; an address is unix:PATH, HOST:PORT or [IPV6]:PORT"));
}

// Letters and digits, and the punctuation of host names and of most paths.
bool IsPlain(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
         c == '-' || c == '_';
}

// gRPC takes addresses for URIs and decodes %XX in them.
std::string PercentEncode(absl::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (IsPlain(c) || c == '/' || c == ':') {
      encoded += c;
    } else {
      absl::StrAppend(&encoded, "%",
                      absl::Hex(static_cast<uint8_t>(c), absl::kZeroPad2));
    }
  }
  return encoded;
}

absl::StatusOr<Address> ParseUnix(absl::string_view text,
                                  absl::string_view path) {
  if (path.empty()) return Malformed(text, "the path is empty");
  if (path.size() > kMaxPathBytes) {
    return Malformed(
        text, absl::StrCat("the path has ", path.size(),
                           " bytes, the system takes at most ", kMaxPathBytes));
  }
  Address address;
  address.path = std::string(path);
  return address;
}

absl::StatusOr<Address> ParseTcp(absl::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return Malformed(text, "no port");
  absl::string_view host = text.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) {
    in6_addr ignored;
    if (!absl::ConsumeSuffix(&host, "]") ||
        inet_pton(AF_INET6, std::string(host).c_str(), &ignored) != 1) {
      return Malformed(text, "no IPv6 address in the brackets");
    }
  } else if (host.empty()) {
    return Malformed(text, "the host is empty");
  } else if (!std::all_of(host.begin(), host.end(), IsPlain)) {
    return Malformed(text, "the host is not a name or an address");
  }

  const absl::string_view port = text.substr(colon + 1);
  uint32_t number = 0;
  if (!std::all_of(port.begin(), port.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(port, &number) || number > UINT16_MAX) {
    return Malformed(
        text, absl::StrCat("the port is not a number from 0 to ", UINT16_MAX));
  }
  Address address;
  address.host = std::string(host);
  address.port = static_cast<uint16_t>(number);
  return address;
}

}  // namespace

bool Address::is_local() const {
  if (is_unix() || host == "localhost") return true;
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == 127;
  }
  in6_addr v6;
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&v6);
}

std::string Address::ToString() const {
  if (is_unix()) return absl::StrCat("unix:", path);
  if (absl::StrContains(host, ':')) return absl::StrCat("[", host, "]:", port);
  return absl::StrCat(host, ":", port);
}

std::string Address::ToGrpcUri() const {
  if (!is_unix()) return absl::StrCat("dns:///", PercentEncode(ToString()));
  // Two slashes at the front would begin the name of a host.
  absl::string_view rest = path;
  while (absl::StartsWith(rest, "//")) rest.remove_prefix(1);
  return absl::StrCat("unix:", PercentEncode(rest));
}

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  // The system's functions would stop reading there.
  if (absl::StrContains(text, absl::string_view("\0", 1))) {
    return Malformed(text, "a zero byte in it");
  }
  absl::string_view path = text;
  if (absl::ConsumePrefix(&path, "unix:")) return ParseUnix(text, path);
  return ParseTcp(text);
}

}  // namespace packhouse
