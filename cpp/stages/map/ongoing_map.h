// map and filter whose calls wait without threads (coroutines).
#pragma once

#include "stages/map/parallel_map.h"

namespace penstock {

// Like MakeParallelCalls, for a function that suspends; kAutotune means kUsualCalls.
IteratorPtr MakeOngoingMap(const Dataset& data, const RunContext& context, ParallelCalls calls);

}  // namespace penstock
