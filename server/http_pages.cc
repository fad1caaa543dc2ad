#include "server/http_pages.h"

#include <civetweb.h>

#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "server/bind_failure.h"

namespace packhouse {

absl::StatusOr<std::unique_ptr<HttpPages>> HttpPages::Start(
    const Address& address, Handlers handlers) {
  if (absl::StrContains(address.host, ':') &&
      !mg_check_feature(MG_FEATURES_IPV6)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot listen on ", address.ToString(),
                     ": the civetweb of this build has no IPv6"));
  }
  // civetweb keeps a pointer to the object.
  std::unique_ptr<HttpPages> pages(new HttpPages(address, std::move(handlers)));
  mg_init_library(MG_FEATURES_IPV6);

  mg_callbacks callbacks = {};
  callbacks.begin_request = &HttpPages::Answer;
  // A non-zero answer keeps civetweb from logging: errors reach the caller.
  callbacks.log_message = [](const mg_connection*, const char*) { return 1; };
  // A thread serves one connection, and waits on it for the request. A scraper
  // and a probe need two threads; the others are for connections on which no
  // request comes, as load balancers and port scanners open them. Each holds
  // its thread for the time-out, far longer than a request takes to come: when
  // more are open at once than there are threads, a probe waits that long, and
  // not for ever.
  constexpr char kThreads[] = "16";
  constexpr char kRequestTimeoutMs[] = "1000";
  const std::string port = address.ToString();
  // No keep-alive: a thread would wait on for the next request.
  const char* options[] = {"listening_ports",
                           port.c_str(),
                           "num_threads",
                           kThreads,
                           "request_timeout_ms",
                           kRequestTimeoutMs,
                           "enable_keep_alive",
                           "no",
                           nullptr};
  pages->context_ = mg_start(&callbacks, pages.get(), options);
  if (pages->context_ == nullptr) return ExplainBindFailure(address);

  mg_server_port bound = {};
  if (mg_get_server_ports(pages->context_, 1, &bound) < 1) {
    return ExplainBindFailure(address);
  }
  pages->address_.port = static_cast<uint16_t>(bound.port);
  return pages;
}

HttpPages::~HttpPages() {
  if (context_ != nullptr) Stop();
  mg_exit_library();
}

// civetweb looks whether it should stop every 2 s, and when somebody connects:
// so somebody does.
void HttpPages::Stop() {
  absl::Notification stopped;
  std::thread waker([&] {
    do {
      char error[100];
      mg_connection* connection = mg_connect_client(
          address_.host.c_str(), address_.port, 0, error, sizeof(error));
      if (connection != nullptr) mg_close_connection(connection);
    } while (!stopped.WaitForNotificationWithTimeout(absl::Milliseconds(20)));
  });
  mg_stop(context_);
  stopped.Notify();
  waker.join();
}

HttpPage HttpPages::PageFor(const std::string& method,
                            const std::string& path) const {
  const auto handler = handlers_.find(path);
  if (handler == handlers_.end()) {
    HttpPage page;
    page.status = 404;
    page.body = "not found; there is:";
    for (const auto& [known, unused] : handlers_) {
      absl::StrAppend(&page.body, " ", known);
    }
    page.body += "\n";
    return page;
  }
  if (method != "GET" && method != "HEAD") {
    HttpPage page;
    page.status = 405;
    page.body = "only GET and HEAD are allowed\n";
    return page;
  }
  return handler->second();
}

int HttpPages::Answer(mg_connection* connection) {
  const mg_request_info* request = mg_get_request_info(connection);
  const auto* pages = static_cast<const HttpPages*>(request->user_data);
  const std::string method = request->request_method;
  const HttpPage page = pages->PageFor(method, request->local_uri);

  const std::string head =
      absl::StrCat("HTTP/1.1 ", page.status, " ",
                   mg_get_response_code_text(connection, page.status),
                   "\r\nContent-Type: ", page.content_type,
                   "\r\nContent-Length: ", page.body.size(),
                   page.status == 405 ? "\r\nAllow: GET, HEAD" : "",
                   "\r\nConnection: close\r\n\r\n");
  mg_write(connection, head.data(), head.size());
  if (method != "HEAD") {
    mg_write(connection, page.body.data(), page.body.size());
  }
  return page.status;
}

}  // namespace packhouse
