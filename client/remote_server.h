// What calls know about the packhoused that they go to: the channel to it and
// how to say what went wrong with it.

#ifndef PACKHOUSE_CLIENT_REMOTE_SERVER_H_
#define PACKHOUSE_CLIENT_REMOTE_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "net/address.h"
#include "packhouse/client.h"

namespace packhouse {

// A value; copies share the channel.
class RemoteServer {
 public:
  // Does not connect yet. `tls` is that of ClientOptions; INVALID_ARGUMENT
  // where a file of it cannot be used.
  static absl::StatusOr<RemoteServer> Create(
      const Address& target, const absl::optional<TlsOptions>& tls);

  const std::string& name() const { return name_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // What is wrong with the server, in its name.
  absl::Status Error(absl::StatusCode code, absl::string_view what) const;

  // The status that a call ended with.
  absl::Status Error(const grpc::Status& status) const;

  // It owed an answer and was silent for `limit`: UNAVAILABLE where there is no
  // connection to wait on, DEADLINE_EXCEEDED otherwise.
  absl::Status Silent(absl::Duration limit) const;

 private:
  RemoteServer(const Address& target, std::shared_ptr<grpc::Channel> channel)
      : name_(target.ToString()), channel_(std::move(channel)) {}

  std::string name_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_REMOTE_SERVER_H_
