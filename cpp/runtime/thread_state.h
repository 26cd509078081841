// What the system says of threads of this process; nothing where it does not (other than Linux).
#pragma once

#include <cstdint>

namespace penstock {

// Nanoseconds in which a thread was ready and had no processor, by the system's id of it.
int64_t ReadyNs(int64_t thread);
// The same of all threads that live now, added up. Of very many it is estimated from some.
int64_t AllReadyNs();
// Whether the system call that a thread is in waits for another thread.
bool WaitsForThread(int64_t thread);

}  // namespace penstock
