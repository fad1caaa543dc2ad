#ifndef PACKHOUSE_TESTS_SERVER_CONNECT_H_
#define PACKHOUSE_TESTS_SERVER_CONNECT_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "session/messages.h"

namespace packhouse {

// A channel with a connection of its own.
inline std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_SERVER_CONNECT_H_
