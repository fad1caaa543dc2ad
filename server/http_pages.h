// A few read-only pages over HTTP, for probes and scrapers.

#ifndef PACKHOUSE_SERVER_HTTP_PAGES_H_
#define PACKHOUSE_SERVER_HTTP_PAGES_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "net/address.h"

struct mg_connection;
struct mg_context;

namespace packhouse {

struct HttpPage {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpPages {
 public:
  // What answers GET and HEAD of each path, such as "/metrics"; called from
  // several threads at once. Another path is answered with 404, another method
  // with 405.
  using Handlers = std::map<std::string, std::function<HttpPage()>>;

  // Serves on a TCP address. FAILED_PRECONDITION where it cannot be bound.
  static absl::StatusOr<std::unique_ptr<HttpPages>> Start(
      const Address& address, Handlers handlers);

  // Stops, and waits for answers on the way.
  ~HttpPages();

  // With the port that the kernel chose where 0 was asked for.
  const Address& address() const { return address_; }

 private:
  HttpPages(const Address& address, Handlers handlers)
      : address_(address), handlers_(std::move(handlers)) {}

  void Stop();
  static int Answer(mg_connection* connection);
  HttpPage PageFor(const std::string& method, const std::string& path) const;

  Address address_;
  const Handlers handlers_;
  mg_context* context_ = nullptr;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_HTTP_PAGES_H_
