// IdleCleanup: releases resources that have been unused for a while, in one background thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/clock.h"

namespace penstock {

// A task that is repeated every period until it has nothing left to do. All tasks share one thread
// of the pool, which ends when no task is scheduled. A fork child starts with nothing scheduled.
//
// For objects that live as long as the process.
class IdleCleanup final {
 public:
  static constexpr MonoTime kPeriod = 2'000'000'000;
  // Returns whether to call it again after a period. Must not throw.
  using Task = bool (*)();

  explicit constexpr IdleCleanup(Task task) : task_(task) {}
  IdleCleanup(const IdleCleanup&) = delete;
  IdleCleanup& operator=(const IdleCleanup&) = delete;

  // Thread-safe; costs two loads if the task is already scheduled. Call it after the change that
  // the task must see, without holding a lock, because it may start a thread. If no thread can
  // start, nothing is scheduled.
  void Schedule() noexcept;

 private:
  static void Loop();
  void Run();

  const Task task_;
  // The fork generation in which the task is scheduled, plus 1; 0: not scheduled.
  std::atomic<uint64_t> scheduled_{0};
};

}  // namespace penstock
