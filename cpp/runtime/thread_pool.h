// ThreadPool: all threads of the engine, cached for reuse.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/clock.h"

namespace penstock {

// Native threads never touch Python; Python threads are `threading.Thread`s created by the python
// folder.
enum class Lane { kNative, kPython };

// Bodies live long and may wait, each on its own thread. Because the number of threads is not
// bounded, nested waits cannot deadlock.
//
// A body must not throw. An escaped exception is printed to stderr with the name, and the thread
// survives; debug builds (no NDEBUG) abort instead, so that tests find it.
//
// The pool is a leaked singleton: no thread is joined at exit. A fork child gets a new, empty pool.
class ThreadPool final {
 public:
  using PythonSpawner = void (*)(const char* name, std::function<void()> body);

  static ThreadPool& Get();
  // Whether the caller is one of the pool's native threads.
  static bool InPool();
  // Called by Run(kPython). It may throw; it must not run the body on the calling thread.
  static void SetPythonSpawner(PythonSpawner spawner);

  // Runs `body` on a cached thread of that lane or on a new one; never waits for one. Throws
  // std::system_error if a thread cannot be started. `name` is shown by debuggers (15 characters)
  // and in the trace.
  void Run(Lane lane, const char* name, std::function<void()> body);

  // How long a native thread stays without work; half a second by default. Does not affect threads
  // already asleep.
  void set_idle_timeout(MonoTime nanoseconds);
  // Native threads currently alive, with and without work.
  int native_threads() const;

 private:
  struct Worker;
  ThreadPool() = default;
  ~ThreadPool() = delete;  // leaked, also in a fork child

  void RunNative(const char* name, std::function<void()> body);
  void NativeMain(Worker* worker);

  mutable std::mutex mutex_;   // a leaf lock: no body runs under it
  std::vector<Worker*> idle_;  // threads asleep without a body; the most recent is last
  int native_threads_ = 0;
  MonoTime idle_timeout_ = 500'000'000;
};

}  // namespace penstock
