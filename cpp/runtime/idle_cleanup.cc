// The thread that calls cleanup tasks.
#include "runtime/idle_cleanup.h"

#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/fork.h"
#include "runtime/thread_pool.h"

namespace penstock {
namespace {

struct Scheduled {
  std::mutex mutex;  // a leaf lock
  std::vector<IdleCleanup*> tasks;
  bool running = false;  // the thread exists
};
Scheduled& TheScheduled() {
  static auto& scheduled = *[] {
    auto* made = new Scheduled;
    HoldAcrossFork(made->mutex);
    OnForkChild([] {
      TheScheduled().tasks.clear();
      TheScheduled().running = false;
    });
    return made;
  }();
  return scheduled;
}

}  // namespace

void IdleCleanup::Schedule() noexcept {
  const uint64_t now = ForkGeneration() + 1;
  // seq_cst: a task that ran without seeing the caller's change had reset this before (Run). So the
  // caller reads the reset value here and schedules another call.
  if (scheduled_.load() == now || scheduled_.exchange(now) == now) return;
  try {
    Scheduled& scheduled = TheScheduled();
    {
      const std::lock_guard lock(scheduled.mutex);
      scheduled.tasks.push_back(this);
      if (std::exchange(scheduled.running, true)) return;
    }
    try {
      ThreadPool::Get().Run(Lane::kNative, "ps-cleanup", &IdleCleanup::Loop);
    } catch (...) {
      const std::lock_guard lock(scheduled.mutex);
      for (IdleCleanup* task : scheduled.tasks) task->scheduled_.store(0);
      scheduled.tasks.clear();
      scheduled.running = false;
    }
  } catch (const std::exception&) {  // out of memory
    scheduled_.store(0);
  }
}

void IdleCleanup::Run() {
  scheduled_.store(0);
  if (task_()) Schedule();
}

void IdleCleanup::Loop() {
  Scheduled& scheduled = TheScheduled();
  for (;;) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kPeriod));
    std::vector<IdleCleanup*> due;
    {
      const std::lock_guard lock(scheduled.mutex);
      due.swap(scheduled.tasks);
    }
    for (IdleCleanup* task : due) task->Run();
    const std::lock_guard lock(scheduled.mutex);
    if (!scheduled.tasks.empty()) continue;
    scheduled.running = false;
    return;
  }
}

}  // namespace penstock
