// Observes a run by sampling its threads.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/activity.h"
#include "runtime/stats.h"

namespace penstock {

// Observations of the threads in one stage. Times are in nanoseconds, summed over the threads.
struct StageTimes {
  std::array<int64_t, kDoings> wall_ns{};  // by Doing
  std::array<int64_t, kDoings> cpu_ns{};   // of these, on a CPU
  int64_t ready_ns = 0;                    // of kRun and kPython: runnable, but without a CPU
  // How often a thread in kRun or kPython that was neither running nor runnable was waiting for
  // another thread (a lock), or for anything else (a file, a timer).
  int64_t locked = 0;
  int64_t asleep = 0;
};

struct ThreadSpan {
  int64_t start_ns;  // since the observation began
  int64_t end_ns;
  int stage;  // index; -1: the consumer, outside of the pipeline
  Doing doing;
  bool on_cpu;      // when sampled
  int64_t element;  // number of elements the stage had emitted
};

struct ThreadHistory {
  std::string name;
  uint64_t number = 0;
  bool consumer = false;
  std::vector<ThreadSpan> spans;
};

struct Observed {
  double seconds = 0;
  std::vector<StageSnapshot> before, after;  // `after` may be longer; same order
  std::vector<StageTimes> stages;            // indexed like `after`
  StageTimes step;                           // the consumer, outside of the pipeline
  std::vector<ThreadHistory> threads;
  int64_t process_cpu_ns = 0;
  int64_t ongoing_cpu_ns = 0;  // of these, by threads that run calls without threads
  int64_t lock_looks = 0;      // how often the foreign lock was tried
  int64_t lock_held = 0;       // how often another thread held it
  int64_t interval_ns = 0;     // between two samples, at the end
  // One entry per 50 ms.
  std::vector<double> history_seconds;
  std::vector<int64_t> history_elements;  // emitted by the root since the observation began
  std::vector<double> history_waiting;    // fraction of the consumer's samples
  std::vector<std::vector<int32_t>> history_buffers;  // indexed like `after`; may be shorter
};

// Samples threads until stopped or destroyed. Samples often enough for 1 % accuracy after a few
// seconds, and seldom enough to use 1 % of one CPU.
class Observation final {
 public:
  // `asks`: whether to try the foreign lock now and then, to measure how often it is held.
  Observation(std::shared_ptr<StatsSink> stats, bool asks);
  ~Observation();
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  // Ends the observation. Call once, on the thread that created it.
  Observed Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
