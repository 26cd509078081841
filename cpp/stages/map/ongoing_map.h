// map and filter with calls that wait without threads (coroutines).
#pragma once

#include "stages/map/parallel_map.h"

namespace penstock {

// As MakeParallelCalls, of a function that suspends; kAutotune: as many as kUsualCalls.
IteratorPtr MakeOngoingMap(const Dataset& data, const RunContext& context, ParallelCalls calls);

}  // namespace penstock
