// ThreadPool: all threads of the engine, kept for the next user instead of started again.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/clock.h"

namespace penstock {

// Native threads never touch Python; Python threads are threading.Threads of the Python folder.
enum class Lane { kNative, kPython };

// Bodies live long and may wait, each on a thread of its own. Because their number is not bounded,
// nothing nested can deadlock.
//
// A body may not throw. What escapes is printed to stderr with the name, and the thread lives on;
// debug builds (no NDEBUG) abort instead, so that tests find it.
//
// The pool is a leaked singleton: no thread is joined at exit. A fork child gets a new, empty pool.
class ThreadPool final {
 public:
  using PythonSpawner = void (*)(const char* name, std::function<void()> body);

  static ThreadPool& Get();
  // Whether the caller is one of the pool's native threads.
  static bool InPool();
  // Run(kPython) calls it. It may throw; it must not run the body on the calling thread.
  static void SetPythonSpawner(PythonSpawner spawner);

  // Runs `body` on a cached thread of that lane, or on a new one; never waits for one. Throws
  // std::system_error when a thread cannot be made. `name` is shown by debuggers (15 characters)
  // and the trace.
  void Run(Lane lane, const char* name, std::function<void()> body);

  // How long a native thread stays without work; half a second at first. Not for threads already
  // asleep.
  void set_idle_timeout(MonoTime nanoseconds);
  // Native threads alive now, with and without work.
  int native_threads() const;

 private:
  struct Worker;
  ThreadPool() = default;
  ~ThreadPool() = delete;  // leaked, in a fork child too

  void RunNative(const char* name, std::function<void()> body);
  void NativeMain(Worker* worker);

  mutable std::mutex mutex_;   // leaf: no body runs under it
  std::vector<Worker*> idle_;  // threads asleep without a body; the last in is the warmest
  int native_threads_ = 0;
  MonoTime idle_timeout_ = 500'000'000;
};

}  // namespace penstock
