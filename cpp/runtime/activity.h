// The current activity of each thread, for observers that sample it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "runtime/clock.h"

namespace penstock {

struct StageStats;

enum class Doing : uint8_t {
  kRun,      // runs the stage's code, or sleeps in it
  kPython,   // calls a user function
  kWorker,   // waits for a process that runs its call
  kOngoing,  // waits for calls in progress that need no thread (coroutines)
  kInput,    // waits for elements
  kRoom,     // waits for room in a buffer
  kMemory,   // the same, while the memory budget is exceeded
  kLock,     // waits for the foreign lock
};
inline constexpr int kDoings = 8;

// While nothing observes, a scope costs a load and a branch. Otherwise it writes the thread's
// activity to the thread's own record: two stores, which observers read at any time. relaxed
// everywhere: a sample may combine the stage of one moment with the activity of the next, which is
// one sample in thousands.
class Activity final {
 public:
  // The record of one thread. Observers read it under the registry's lock.
  struct Record {
    std::atomic<const StageStats*> stage{nullptr};  // null: in none
    std::atomic<Doing> doing{Doing::kRun};
    std::atomic<const void*> consumes{nullptr};    // the StatsSink of the run it consumed last
    std::atomic<const char*> name{""};             // interned
    std::atomic<uint32_t> waits{0};                // number of sleeps that ended by a wake-up
    std::atomic<Doing> waited_for{Doing::kInput};  // in the last sleep
    // The thread runs calls that need no thread of their own.
    std::atomic<bool> runs_ongoing{false};
    uint64_t number = 0;  // of this record; never reused
    int64_t system_id = 0;
    int64_t cpu_clock = 0;            // see CpuNs
    Doing waits_for = Doing::kInput;  // used only by the thread itself

    // The thread's CPU time in nanoseconds; -1 if the system does not report it.
    int64_t CpuNs() const;
  };

  Activity() = delete;
  static bool observed() { return observers_.load(std::memory_order_relaxed) > 0; }
  // While one is alive, threads maintain their records.
  class Observer final {
   public:
    Observer() { observers_.fetch_add(1, std::memory_order_relaxed); }
    ~Observer() { observers_.fetch_sub(1, std::memory_order_relaxed); }
    Observer(const Observer&) = delete;
    Observer& operator=(const Observer&) = delete;
  };
  // Calls `look` for each thread with a record. Threads that start or end meanwhile wait, so `look`
  // must be short.
  static void ForEach(const std::function<void(Record&)>& look);
  // The record of the calling thread; null if there is no memory for it.
  static Record* Mine() noexcept;
  // For the calling thread; `name` is never freed.
  static void SetThreadName(const char* name) noexcept;

 private:
  static std::atomic<int> observers_;
};

// The thread works for a stage within this scope.
class InStage final {
 public:
  explicit InStage(const StageStats* stage, Doing doing = Doing::kRun)
      : record_(Activity::observed() ? Activity::Mine() : nullptr) {
    if (!record_) [[likely]]
      return;
    former_stage_ = record_->stage.load(std::memory_order_relaxed);
    former_doing_ = record_->doing.load(std::memory_order_relaxed);
    record_->stage.store(stage, std::memory_order_relaxed);
    record_->doing.store(doing, std::memory_order_relaxed);
  }
  ~InStage() {
    if (!record_) [[likely]]
      return;
    record_->stage.store(former_stage_, std::memory_order_relaxed);
    record_->doing.store(former_doing_, std::memory_order_relaxed);
  }
  InStage(const InStage&) = delete;
  InStage& operator=(const InStage&) = delete;

 private:
  Activity::Record* const record_;
  const StageStats* former_stage_;
  Doing former_doing_;
};

// The thread does something else for the same stage within this scope.
class Does final {
 public:
  explicit Does(Doing doing) : record_(Activity::observed() ? Activity::Mine() : nullptr) {
    if (record_) former_ = record_->doing.exchange(doing, std::memory_order_relaxed);
  }
  ~Does() {
    if (record_) record_->doing.store(former_, std::memory_order_relaxed);
  }
  Does(const Does&) = delete;
  Does& operator=(const Does&) = delete;

 private:
  Activity::Record* const record_;
  Doing former_ = Doing::kRun;
};

// The reason for waits within this scope; kInput by default.
class WaitsFor final {
 public:
  explicit WaitsFor(Doing reason) : record_(Activity::observed() ? Activity::Mine() : nullptr) {
    if (!record_) return;
    former_ = record_->waits_for;
    record_->waits_for = reason;
  }
  ~WaitsFor() {
    if (record_) record_->waits_for = former_;
  }
  WaitsFor(const WaitsFor&) = delete;
  WaitsFor& operator=(const WaitsFor&) = delete;

 private:
  Activity::Record* const record_;
  Doing former_ = Doing::kInput;
};

// The thread sleeps within this scope until another one wakes it.
class Sleeps final {
 public:
  Sleeps() : record_(Activity::observed() ? Activity::Mine() : nullptr) {
    if (!record_) return;
    former_ = record_->doing.exchange(record_->waits_for, std::memory_order_relaxed);
    record_->waited_for.store(record_->waits_for, std::memory_order_relaxed);
    // Only this thread writes it.
    const uint32_t waits = record_->waits.load(std::memory_order_relaxed);
    record_->waits.store(waits + 1, std::memory_order_relaxed);
  }
  ~Sleeps() {
    if (record_) record_->doing.store(former_, std::memory_order_relaxed);
  }
  Sleeps(const Sleeps&) = delete;
  Sleeps& operator=(const Sleeps&) = delete;

 private:
  Activity::Record* const record_;
  Doing former_ = Doing::kRun;
};

}  // namespace penstock
