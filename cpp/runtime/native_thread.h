// A thread of the system with a stack of known size.
#pragma once

#include <cstdint>
#include <functional>

namespace penstock {

// What threads of the engine get, whatever the system's habit is (128 KB, 512 KB, 1 MB, 8 MB). Only
// what is used of it takes memory.
inline constexpr int64_t kThreadStack = int64_t{8} << 20;

// Runs `body`, which must not throw, on a new detached thread with that stack, on which no
// asynchronous signal is handled. Throws std::system_error when none can be had.
void StartNativeThread(std::function<void()> body);

// The stack that the system gives to threads that are created without a size; 0: unknown.
int64_t UsualThreadStack();

}  // namespace penstock
