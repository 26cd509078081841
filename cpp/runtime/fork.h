// What a child needs after fork(): a generation number, and a list of things to reset.
#pragma once

#include <cstdint>
#include <mutex>

namespace penstock {

// Grows by one in every fork child. An object that remembers the number of its birth knows whether
// its threads exist. The first call, or OnForkChild, installs the handler; forks before it have
// nothing to reset.
uint64_t ForkGeneration();

// Takes the mutex for the time of every fork, so that the child never finds it held by a thread
// that it does not have. For leaf locks that live as long as the process; at most 32.
void HoldAcrossFork(std::mutex& mutex);

// `fn` runs in every fork child, before fork() returns there. Other threads are gone and may have
// held any lock: fn only replaces pointers (and leaks what they pointed to). At most 32.
void OnForkChild(void (*fn)());

}  // namespace penstock
