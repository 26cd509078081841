// A system thread with a known stack size.
#pragma once

#include <cstdint>
#include <functional>

namespace penstock {

// The stack size of the engine's threads, whatever the system's default (128 KB, 512 KB, 1 MB, 8
// MB). Only the used part takes memory.
inline constexpr int64_t kThreadStack = int64_t{8} << 20;

// Runs `body`, which must not throw, on a new detached thread with that stack, which handles no
// asynchronous signals. Throws std::system_error if none is available.
void StartNativeThread(std::function<void()> body);

// The system's default stack size for threads; 0: unknown.
int64_t UsualThreadStack();

}  // namespace penstock
