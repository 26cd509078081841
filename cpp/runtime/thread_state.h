// States of this process's threads as reported by the system; empty except on Linux.
#pragma once

#include <cstdint>

namespace penstock {

// Nanoseconds that a thread was runnable but had no CPU, by its system id.
int64_t ReadyNs(int64_t thread);
// The sum over all live threads; estimated from a sample if there are very many.
int64_t AllReadyNs();
// Whether the system call that a thread is in waits for another thread.
bool WaitsForThread(int64_t thread);

}  // namespace penstock
