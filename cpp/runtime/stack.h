// The remaining stack of a thread.
#pragma once

#include <cstdint>
#include <limits>

namespace penstock {

// The size is unknown, which counts as sufficient.
inline constexpr int64_t kUnknownStack = std::numeric_limits<int64_t>::max();

// Bytes from here to the end of the calling thread's stack. Asks the system once per thread; then
// it is a subtraction. Unknown on a stack that is not the thread's own (a fiber's).
int64_t StackLeft();
// The size of the whole stack; unknown where StackLeft is.
int64_t StackSize();

}  // namespace penstock
