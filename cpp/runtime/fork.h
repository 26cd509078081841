// What a child process needs after fork(): a generation number, and objects to reset.
#pragma once

#include <cstdint>
#include <mutex>

namespace penstock {

// Incremented in every fork child. An object that stores the generation of its creation can tell
// whether its threads exist. The first call, or OnForkChild, installs the handler; earlier forks
// have nothing to reset.
uint64_t ForkGeneration();

// Holds the mutex during every fork, so that the child never finds it locked by a thread that does
// not exist there. For leaf locks that live as long as the process; at most 32.
void HoldAcrossFork(std::mutex& mutex);

// `fn` runs in every fork child, before fork() returns there. Other threads are gone and may have
// held any lock, so fn may only replace pointers (and leak the objects they pointed to). At most
// 32.
void OnForkChild(void (*fn)());

}  // namespace penstock
