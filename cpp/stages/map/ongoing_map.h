// map with calls that wait without threads (coroutines).
#pragma once

#include "engine/dataset.h"
#include "engine/iterator.h"

namespace penstock {

struct OngoingMapOptions {
  FunctionPtr function;  // one that suspends
  int64_t calls;         // at a time; kAutotune: as many as kUsualCalls
  bool ordered;
};

// The iterator of a parallel map `data` of such a function.
IteratorPtr MakeOngoingMap(const Dataset& data, const RunContext& context,
                           OngoingMapOptions options);

}  // namespace penstock
