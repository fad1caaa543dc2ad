#include "server/http_pages.h"

#include <civetweb.h>

#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

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
  const std::string port = address.ToString();
  const char* options[] = {"listening_ports", port.c_str(),
                           // A scraper, a probe and some spare: each thread
                           // serves one connection.
                           "num_threads", "4",
                           // What a peer that stalls can hold a thread for.
                           "request_timeout_ms", "5000", nullptr};
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
