// A load on a packhoused, and what it does to the time that a batch takes.
//
// The load speaks the protocol through gRPC's generated stub, not through the
// client library: it then costs little itself, does not wait for anything but
// the server, and can be put on any server that speaks PackerService.Pack, such
// as one that answers without packing (bench/echo_server.cc).

#ifndef PACKHOUSE_CLIENT_CLI_SERVICE_LOAD_H_
#define PACKHOUSE_CLIENT_CLI_SERVICE_LOAD_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/round_trips.h"
#include "packhouse/client.h"
#include "packhouse/spec.h"

namespace packhouse {

struct LoadQuery {
  // Where, how many sequences a batch, how long any wait may be.
  ClientOptions client;
  PackSpec spec;

  // Each on a connection of its own, as those of worker processes are.
  uint64_t streams = 1;

  // Batches that a stream has on the way at most, besides the server's credit.
  uint64_t in_flight = 16;

  // Of all streams together, in turn and evenly over time; a stream that has
  // in_flight batches on the way makes up for it later. 0: each batch as soon
  // as in_flight allows.
  double batches_per_second = 0;

  // From when all streams are open. 0 opens and ends them without a batch.
  double seconds = 10;
};

struct LoadResult {
  // Streams that ended in an error, by its code, and the first of them.
  std::map<absl::StatusCode, uint64_t> failures;
  absl::Status first_failure;

  // Of answered batches; refused ones are among them.
  uint64_t batches = 0;
  uint64_t sequences = 0;
  uint64_t refused_batches = 0;
  uint64_t packs = 0;

  // From the first batch that might be sent to the last answer.
  double seconds = 0;

  // From the write of a batch to the response whose credit covers it.
  RoundTrips round_trips;
  uint64_t worst_stream_p99_ns = 0;
};

// Opens all streams, sends batches and ends the streams. Each stream takes
// its batches from `lengths`, one at least, again and again, from a place of
// its own. Where the first could not be opened, its error. INVALID_ARGUMENT for
// several targets, or one of no known form.
absl::StatusOr<LoadResult> RunLoad(const LoadQuery& query,
                                   const std::vector<uint32_t>& lengths);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_SERVICE_LOAD_H_
