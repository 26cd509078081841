// executor="auto": a function that threads call at first, and worker processes once that pays.
#pragma once

#include "compute/function.h"
#include "engine/dataset.h"

namespace penstock {

// For one run of a stage, `data`, that makes `calls` calls at a time (kAutotune: several). Why it
// chooses what is among the moves of the session.
FunctionPtr MakeAutoFunction(const RunContext& context, const PlannedFunction& planned,
                             const Dataset& data, int64_t calls);

}  // namespace penstock
