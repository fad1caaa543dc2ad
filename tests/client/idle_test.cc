// What happens while nothing happens: long tests, which run where
// PACKHOUSE_LONG_TESTS is set.

#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "net/keepalive.h"
#include "packhouse/client.h"
#include "packhouse/v1/packhouse.grpc.pb.h"
#include "tests/client/test_server.h"
#include "tests/packs.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

// Twelve pings as often as the server permits, four of our client.
constexpr absl::Duration kIdle = absl::Seconds(120);
constexpr absl::Duration kLimit = absl::Seconds(30);

// A client of somebody who wants to know at once that a server is gone.
std::shared_ptr<grpc::Channel> PingingChannel(const std::string& target,
                                              int interval_ms) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, interval_ms);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  auto channel = grpc::CreateCustomChannel(
      target, grpc::InsecureChannelCredentials(), arguments);
  EXPECT_TRUE(
      channel->WaitForConnected(absl::ToChronoTime(absl::Now() + kLimit)));
  return channel;
}

// True if the channel is connected without a break until then.
bool StaysConnected(grpc::Channel& channel, absl::Time until) {
  return !channel.WaitForStateChange(GRPC_CHANNEL_READY,
                                     absl::ToChronoTime(until));
}

TEST(IdleTest, LongIdleConnectionsStay) {
  if (std::getenv("PACKHOUSE_LONG_TESTS") == nullptr) {
    GTEST_SKIP() << "takes two minutes; PACKHOUSE_LONG_TESTS is not set";
  }
  const std::unique_ptr<Server> server = StartServer("127.0.0.1:0");
  const std::string& target = server->addresses()[0];

  ClientOptions options;
  options.target = target;
  const auto client = *Client::Create(options);
  const auto stream = client->OpenStream(MakeSpec(10, 2));
  ASSERT_THAT(stream, IsOk());
  const auto without_calls =
      PingingChannel(target, kServerPermittedPingIntervalMs);
  const auto with_call = PingingChannel(target, kServerPermittedPingIntervalMs);
  grpc::ClientContext context;
  const auto call = v1::PackerService::NewStub(with_call)->Pack(&context);
  // Or this test would not see a connection that is closed.
  const auto too_often = PingingChannel(target, 1000);

  const absl::Time end = absl::Now() + kIdle;
  EXPECT_FALSE(StaysConnected(*too_often, end));
  EXPECT_TRUE(StaysConnected(*without_calls, end));
  EXPECT_EQ(with_call->GetState(false), GRPC_CHANNEL_READY);
  EXPECT_THAT((*stream)->Add({5, 5}), IsOk());
  EXPECT_THAT((*stream)->End(), IsOk());
  EXPECT_EQ((*stream)->Take()->size(), 1);
  context.TryCancel();
}

}  // namespace
}  // namespace packhouse
