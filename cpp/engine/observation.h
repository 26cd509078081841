// Watching a run from beside it: what its threads do, sampled.
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

// What was seen of the threads in one stage. Times are in nanoseconds, added up over the threads.
struct StageTimes {
  std::array<int64_t, kDoings> wall_ns{};  // by Doing
  std::array<int64_t, kDoings> cpu_ns{};   // of these, on a processor
  int64_t ready_ns = 0;                    // of kRun and kPython: ready, without a processor
  // How often a thread that was neither, in kRun or kPython, was found waiting for another thread
  // (a lock), and for anything else (a file, a clock).
  int64_t locked = 0;
  int64_t asleep = 0;
};

struct ThreadSpan {
  int64_t start_ns;  // since the observation began
  int64_t end_ns;
  int stage;  // index; -1: the consumer, outside of the pipeline
  Doing doing;
  bool on_cpu;      // when it was looked at
  int64_t element;  // how many the stage had given
};

struct ThreadHistory {
  std::string name;
  uint64_t number = 0;
  bool consumer = false;
  std::vector<ThreadSpan> spans;
};

struct Observed {
  double seconds = 0;
  std::vector<StageSnapshot> before, after;  // `after` is the longer one, in the same order
  std::vector<StageTimes> stages;            // as `after`
  StageTimes step;                           // of the consumer, outside of the pipeline
  std::vector<ThreadHistory> threads;
  int64_t process_cpu_ns = 0;
  int64_t ongoing_cpu_ns = 0;  // of these, of the threads that run calls without threads
  int64_t lock_looks = 0;      // how often the foreign lock was asked for,
  int64_t lock_held = 0;       // and was held by another
  int64_t interval_ns = 0;     // between two samples, at the end
  // One for each 50 ms.
  std::vector<double> history_seconds;
  std::vector<int64_t> history_elements;              // of the root, since the observation began
  std::vector<double> history_waiting;                // share of the consumer's samples
  std::vector<std::vector<int32_t>> history_buffers;  // for each moment, as `after`; may be shorter
};

// Samples threads until it is destroyed or stopped. It looks often enough for a mean of a percent
// after some seconds, and seldom enough to take a hundredth of one processor.
class Observation final {
 public:
  // `asks`: whether the foreign lock is asked for now and then, to see how often it is held.
  Observation(std::shared_ptr<StatsSink> stats, bool asks);
  ~Observation();
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  // Ends it. For the thread that made it; once.
  Observed Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
