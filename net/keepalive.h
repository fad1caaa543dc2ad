// How a client finds out that a server is gone, in numbers that fit each other:
// both ends take them from here.
//
// A machine that vanishes closes no connection, so over TCP the client pings an
// open connection and gives it up when no answer comes. A server takes pings
// that come too often for an attack, after two of them says ENHANCE_YOUR_CALM
// and closes; by default every 5 minutes is often enough for gRPC, and without
// a call every 2 hours. So the server has to permit more than clients do.
// Clients on a Unix socket ping not at all: the kernel tells them when the
// server ends, and one that stands still is noticed by the limits on waits.

#ifndef PACKHOUSE_NET_KEEPALIVE_H_
#define PACKHOUSE_NET_KEEPALIVE_H_

namespace packhouse {

// The client pings a TCP connection on which nothing came for so long. Routers
// forget idle connections after some minutes, so this also keeps them awake.
inline constexpr int kClientPingIntervalMs = 30'000;

// And gives the connection up when nothing comes within this. A network may be
// away for some seconds without a reason to start anew.
inline constexpr int kClientPingTimeoutMs = 10'000;

// The shortest interval of pings that the server permits, with or without a
// call. Clients in other languages may want to know sooner than ours.
inline constexpr int kServerPermittedPingIntervalMs = 10'000;

// The server pings too, connections of any kind, to give back the memory of
// clients that are gone without a word or stand still.
inline constexpr int kServerPingIntervalMs = 60'000;
inline constexpr int kServerPingTimeoutMs = 20'000;

// The margin is for pings that the network delays and then delivers together.
static_assert(2 * kServerPermittedPingIntervalMs <= kClientPingIntervalMs);

}  // namespace packhouse

#endif  // PACKHOUSE_NET_KEEPALIVE_H_
