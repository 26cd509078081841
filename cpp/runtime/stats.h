// Counters of every stage, one cache line each, and the list of them.
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

// How long the calls of a stage took, while it is observed: counts by quarters of an octave.
// Written by the stage's threads, read by any; each number stands alone.
struct CallTimes {
  static constexpr int kBuckets = 256;
  // Of a call, or of `rows` that were made together.
  void Add(int64_t ns, int64_t rows, size_t bytes);
  // The same of one call that went on without a thread.
  void AddOngoing(int64_t ns, size_t bytes);
  // Seconds that this share of the calls did not exceed; within an eighth.
  double Quantile(double share) const;

  std::atomic<int64_t> counts[kBuckets] = {};
  std::atomic<int64_t> longest_ns{0};
  std::atomic<int64_t> rows{0};  // whose bytes were counted
  std::atomic<int64_t> bytes{0};
  std::atomic<int64_t> ongoing_ns{0};  // of all calls that went on without threads
};

// Written by the stage's threads, read by any thread. relaxed everywhere: each number stands alone.
struct alignas(64) StageStats {
  std::atomic<int64_t> steps{0};   // elements delivered
  std::atomic<int64_t> blocks{0};  // hand-overs of several elements at once
  std::atomic<int64_t> errors{0};  // elements that were errors
  // Inside the stage and its inputs: extrapolated from samples, or added up over its own threads.
  std::atomic<int64_t> busy_ns{0};
  std::atomic<int64_t> wait_ns{0};         // the stage's consumer waited for it
  std::atomic<int32_t> buffer_size{0};     // now in the stage's buffer (elements)
  std::atomic<int32_t> buffer_limit{0};    // allowed in it; 0: no buffer
  std::atomic<int32_t> parallelism{0};     // threads or tasks at once; 0: none of its own
  std::atomic<int32_t> retries{0};         // calls that were made again
  std::atomic<CallTimes*> calls{nullptr};  // while it is observed, or was

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
  int64_t calls = 0;           // since it was started, of all functions
  int64_t functions = 0;       // that it has
  int64_t resident_bytes = 0;  // in memory
  int64_t shared_bytes = 0;    // of these, what other processes may have too
  int64_t cpu_ns = 0;          // that it has run on a processor
};

// The numbers of one stage at one moment; fields as in StageStats.
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

  // Thread-safe. The entry lives as long as the sink; the same path gives the same entry, so the
  // counts of a stage that is made again (repeat) go on. The first label wins.
  StageStats* Add(std::string stage_path, StageLabel label);

  // Asks for the processes that make calls for the stage of this path; `workers` may be called at
  // any time, by any thread.
  void SetWorkers(const std::string& stage_path,
                  std::function<std::vector<WorkerReport>()> workers);

  // From now on the calls of all stages are timed, those of later ones at the next Observe.
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
  // Guards the list, not the counters. Entries never move, and the map's keys live in them.
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  std::unordered_map<std::string_view, Entry*> by_path_;
  std::unordered_map<std::string, std::function<std::vector<WorkerReport>()>> workers_;
};

}  // namespace penstock
