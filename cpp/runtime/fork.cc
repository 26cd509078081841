// The handler that runs in a fork child.
#include "runtime/fork.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "runtime/platform.h"

#if defined(PENSTOCK_POSIX)
#include <pthread.h>
#endif

namespace penstock {
namespace {

constexpr int kMaxHandlers = 32;

// Plain atomics without destructors: the handler must not lock or allocate.
std::atomic<uint64_t> generation{0};
std::atomic<void (*)()> handlers[kMaxHandlers] = {};
std::atomic<int> handler_count{0};
std::atomic<std::mutex*> held[kMaxHandlers] = {};
std::atomic<int> held_count{0};
constinit thread_local std::mutex* taken[kMaxHandlers] = {};  // locked by this thread's fork

#if defined(PENSTOCK_POSIX)
// relaxed: the child has one thread, and fork() copied everything that its parent thread had seen.
// acquire: pairs with HoldAcrossFork.
void BeforeFork() {
  for (int i = 0; i < kMaxHandlers; ++i) {
    taken[i] = held[i].load(std::memory_order_acquire);
    if (taken[i] != nullptr) taken[i]->lock();
  }
}

void AfterFork() {
  for (std::mutex* mutex : taken) {
    if (mutex != nullptr) mutex->unlock();
  }
}

void AfterForkInChild() {
  AfterFork();
  generation.fetch_add(1, std::memory_order_relaxed);
  for (auto& handler : handlers) {
    if (auto* fn = handler.load(std::memory_order_acquire)) fn();  // pairs with OnForkChild
  }
}
#endif

void InstallOnce() {
#if defined(PENSTOCK_POSIX)
  static const int installed = pthread_atfork(BeforeFork, AfterFork, AfterForkInChild);
  (void)installed;
#endif
}

}  // namespace

uint64_t ForkGeneration() {
  InstallOnce();
  return generation.load(std::memory_order_relaxed);  // written only before the child has threads
}

void HoldAcrossFork(std::mutex& mutex) {
  InstallOnce();
  const int i = held_count.fetch_add(1, std::memory_order_relaxed);  // only assigns entries
  if (i >= kMaxHandlers) {
    std::fputs("penstock: more than 32 mutexes to hold across a fork\n", stderr);
    std::abort();
  }
  held[i].store(&mutex, std::memory_order_release);  // pairs with acquire in BeforeFork
}

void OnForkChild(void (*fn)()) {
  InstallOnce();
  const int i = handler_count.fetch_add(1, std::memory_order_relaxed);  // only assigns entries
  if (i >= kMaxHandlers) {
    std::fputs("penstock: more than 32 fork handlers\n", stderr);
    std::abort();
  }
  handlers[i].store(fn, std::memory_order_release);  // pairs with acquire in AfterForkInChild
}

}  // namespace penstock
