// executor="auto": calls the function in threads first, and in worker processes once that is
// faster.
#pragma once

#include "compute/function.h"
#include "engine/dataset.h"

namespace penstock {

// Returns the function for one run of the stage `data`, which makes `calls` concurrent calls
// (kAutotune: several). The session logs the choice and its reason as a tuning move.
FunctionPtr MakeAutoFunction(const RunContext& context, const PlannedFunction& planned,
                             const Dataset& data, int64_t calls);

}  // namespace penstock
