// How long a request will keep a thread, before it is begun.
//
// The threads of gRPC are few and carry every stream: what takes long has to
// leave them, and what is short has to stay, since a hop to another thread and
// its wake-up cost 5 to 10 us. What a request costs can be told from the spec,
// the units that come and the units that they may decide. The figures are those
// of dear lists: a light request that hops loses some per cent, a heavy one
// that stays delays others.

#ifndef PACKHOUSE_SERVER_WORK_COST_H_
#define PACKHOUSE_SERVER_WORK_COST_H_

#include <cstdint>

#include "packhouse/spec.h"
#include "session/messages.h"

namespace packhouse {

// Below this a request is served where it arrived: a fiftieth of it is lost by
// a hop, and it is what another stream may have to wait for a thread.
inline constexpr uint64_t kInlineNanos = 500'000;

// What a session will take for this request. `spec` is that of the stream, null
// before `open`; `pending_units` wait in it for their pack.
uint64_t EstimateNanos(const PackSpec* spec, uint64_t pending_units,
                       const Request& request);

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_WORK_COST_H_
