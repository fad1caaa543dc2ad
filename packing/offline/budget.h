// The one place of packing that reads a clock.

#ifndef PACKHOUSE_PACKING_OFFLINE_BUDGET_H_
#define PACKHOUSE_PACKING_OFFLINE_BUDGET_H_

#include "packhouse/spec.h"
#include "packing/lp/column_generation.h"

namespace packhouse {

// How much of spec.budget_seconds (0 is a second) is spent from now on.
SpentTime StartBudget(const PackSpec& spec);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_OFFLINE_BUDGET_H_
