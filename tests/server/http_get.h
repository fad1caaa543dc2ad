#ifndef PACKHOUSE_TESTS_SERVER_HTTP_GET_H_
#define PACKHOUSE_TESTS_SERVER_HTTP_GET_H_

#include <string>

namespace packhouse {

// The whole answer, head and body, to a request to "HOST:PORT"; empty where
// none came.
std::string HttpGet(const std::string& address, const std::string& path,
                    const std::string& method = "GET");

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_SERVER_HTTP_GET_H_
