// Counters of every stage, one cache line each, and their list.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/stage_label.h"

namespace penstock {

// Durations of the calls of a stage while it is observed: counts per quarter octave. Written by the
// stage's threads, read by any; each value is independent.
struct CallTimes {
  static constexpr int kBuckets = 256;
  // For one call, or `rows` rows produced together.
  void Add(int64_t ns, int64_t rows, size_t bytes);
  // The same for one call without a thread.
  void AddOngoing(int64_t ns, size_t bytes);
  // The duration in seconds that this fraction of the calls did not exceed; accurate to one eighth.
  double Quantile(double share) const;

  std::atomic<int64_t> counts[kBuckets] = {};
  std::atomic<int64_t> longest_ns{0};
  std::atomic<int64_t> rows{0};  // whose bytes were counted
  std::atomic<int64_t> bytes{0};
  std::atomic<int64_t> ongoing_ns{0};  // of all calls without threads
};

// Written by the stage's threads, read by any thread. relaxed everywhere: each value is
// independent.
struct alignas(64) StageStats {
  std::atomic<int64_t> steps{0};   // elements delivered
  std::atomic<int64_t> blocks{0};  // deliveries of several elements together
  std::atomic<int64_t> errors{0};  // elements that were errors
  // Time inside the stage and its inputs: extrapolated from samples, or summed over its own
  // threads.
  std::atomic<int64_t> busy_ns{0};
  std::atomic<int64_t> wait_ns{0};         // time the stage's consumer waited for it
  std::atomic<int32_t> buffer_size{0};     // elements now in the stage's buffer
  std::atomic<int32_t> buffer_limit{0};    // maximum of buffer_size; 0: no buffer
  std::atomic<int32_t> parallelism{0};     // concurrent threads or tasks; 0: none of its own
  std::atomic<int32_t> retries{0};         // repeated calls
  std::atomic<CallTimes*> calls{nullptr};  // set once it is observed

  template <class Number>
  static void Add(std::atomic<Number>& counter, Number n) {
    counter.fetch_add(n, std::memory_order_relaxed);
  }
  template <class Number>
  static void Set(std::atomic<Number>& gauge, Number n) {
    gauge.store(n, std::memory_order_relaxed);
  }
};
static_assert(sizeof(StageStats) == 64);

// A process that makes calls for a stage.
struct WorkerReport {
  int64_t pid = 0;
  int64_t calls = 0;           // since it was started, for all functions
  int64_t functions = 0;       // number of functions loaded
  int64_t resident_bytes = 0;  // in memory
  int64_t shared_bytes = 0;    // of these, memory that may be shared with other processes
  int64_t cpu_ns = 0;          // CPU time
};

// A snapshot of one stage's counters; fields as in StageStats.
struct StageSnapshot {
  std::string path;
  const StageStats* stats = nullptr;  // lives as long as the sink
  StageLabel label;
  int64_t steps = 0;
  int64_t blocks = 0;
  int64_t errors = 0;
  int64_t busy_ns = 0;
  int64_t wait_ns = 0;
  int32_t buffer_size = 0;
  int32_t buffer_limit = 0;
  int32_t parallelism = 0;
  int32_t retries = 0;
  std::vector<WorkerReport> workers;
};

class StatsSink final {
 public:
  StatsSink() = default;
  StatsSink(const StatsSink&) = delete;
  StatsSink& operator=(const StatsSink&) = delete;

  // Thread-safe. The entry lives as long as the sink. The same path returns the same entry, so the
  // counts of a stage that is created again (repeat) continue. The first label is kept.
  StageStats* Add(std::string stage_path, StageLabel label);

  // Sets the function that reports the processes making calls for the stage at this path. `workers`
  // may be called at any time, by any thread.
  void SetWorkers(const std::string& stage_path,
                  std::function<std::vector<WorkerReport>()> workers);

  // From now on the calls of all existing stages are timed; later stages need another Observe.
  void Observe();
  // In the order of Add.
  std::vector<StageSnapshot> Snapshot() const;

 private:
  struct Entry {
    std::string path;
    StageLabel label;
    StageStats stats;
    std::unique_ptr<CallTimes> calls;
  };
  // Protects the list, not the counters. Entries never move, and the map's keys are in them.
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  std::unordered_map<std::string_view, Entry*> by_path_;
  std::unordered_map<std::string, std::function<std::vector<WorkerReport>()>> workers_;
};

}  // namespace penstock
