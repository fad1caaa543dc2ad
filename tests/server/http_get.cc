#include "tests/server/http_get.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace packhouse {

std::string HttpGet(const std::string& address, const std::string& path,
                    const std::string& method) {
  const size_t colon = address.rfind(':');
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.substr(0, colon).c_str(),
                  address.substr(colon + 1).c_str(), &hints, &found) != 0) {
    ADD_FAILURE() << "no address " << address;
    return "";
  }
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const timeval limit = {30, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  std::string answer;
  if (connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
    const std::string request =
        method + " " + path + " HTTP/1.1\r\nHost: test\r\n\r\n";
    send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    char buffer[4096];
    ssize_t n;
    while ((n = recv(fd, buffer, sizeof(buffer), 0)) > 0) {
      answer.append(buffer, static_cast<size_t>(n));
    }
  }
  close(fd);
  freeaddrinfo(found);
  return answer;
}

}  // namespace packhouse
