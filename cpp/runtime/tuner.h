// The controller that moves the widths of all stages of a run, based on the pipeline model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/model.h"

namespace penstock {

// Measurements of one stage since the last decision, from counters only.
struct StageWindow {
  int width = 1;  // concurrent calls
  int least = 1;
  int most = 1;
  int consumer = -1;  // the stage that consumes its output; -1: the consumer of the whole pipeline
  double delivered = 0;  // elements
  double called = 0;     // seconds in calls, summed over its threads
  double cpu = 0;        // of these, on a CPU
  double pulled = 0;     // seconds in which one thread pulled the input, and waited for it
  double waited = 0;     // seconds that its consumer waited for it
  double bytes = 0;      // of the elements it produced
};

struct PipelineWindow {
  double seconds = 0;
  double processors = 1;
  double elsewhere = 0;             // CPU seconds of everything except calls of stages
  double ready = 0;                 // seconds in which threads were runnable but had no CPU
  int budget = 0;                   // for the sum of all widths; 0: unlimited
  double memory = 0;                // bytes that may be held; 0: unlimited
  double memory_used = 0;           // at the end
  std::vector<StageWindow> stages;  // a consumer comes after its inputs
};

struct TunerMove {
  double time = 0;  // seconds: the sum of the windows so far
  size_t stage = 0;
  int old_value = 0;
  int new_value = 0;
  std::string reason;
};

// The model determines which widths reach the maximum rate, and the smallest that do. A change must
// have a measurable gain; otherwise it is reverted, and the rate reached counts as a limit that the
// model cannot see (a disk, a lock, the GIL, memory bandwidth), until the work changes or a long
// time has passed. The model may also miss possible gains: while the consumer waits, larger widths
// are occasionally tried even if it expects nothing. A pure function of the windows: no clock, no
// randomness, no thread.
class Tuner final {
 public:
  Tuner();
  // Returns the new widths. Call it for each window (about 0.5 s) with the current widths, and the
  // stages always in the same order. If the stages change, create another Tuner.
  std::vector<int> Decide(const PipelineWindow& window);
  const std::vector<TunerMove>& log() const { return log_; }

 private:
  enum class Trial { kNone, kMore, kLess };
  // Measurements per element of the pipeline's output.
  struct Measured {
    double rate = 0;
    double waiting = 0;             // fraction of the time that the last consumer waited
    std::vector<Section> sections;  // of the stages, and of the last consumer
    std::vector<double> ready;      // seconds per stage runnable without a CPU; not in `sections`
    double processors = 1;          // available to these sections
  };
  using Widths = std::vector<int>;

  bool Accumulate(const PipelineWindow& window);
  void LearnNoise(double rate);
  double Deviation() const;
  bool Enough() const;
  Measured Measure() const;
  double WaitFor(int consumer) const;
  size_t Slowest(int consumer) const;
  std::optional<size_t> BusiestWithRoom(const Widths& widths) const;
  double Rate(const Measured& measured, const Widths& widths) const;
  Widths Plan(const Measured& measured) const;
  bool MemoryIsShort() const;
  int Affordable(const Widths& widths, size_t busiest) const;
  Widths Judge(const Measured& measured, const Widths& widths);
  Widths Trim(const Measured& measured, const Widths& widths, double gain);
  Widths Improve(const Measured& measured, const Widths& widths);
  Widths Explore(const Measured& measured, const Widths& widths);
  Widths Reduce(const Measured& measured, const Widths& widths);
  bool WorkChanged(const Measured& measured);
  void ChangedForNothing();
  Widths Move(const Widths& from, const Widths& to, const std::string& reason);

  double time_ = 0;
  PipelineWindow gathered_;  // windows that were too short to decide by
  int gathered_windows_ = 0;
  bool gather_more_ = false;  // before deciding
  double variance_ = 0;       // of a window's rate, relative
  double rate_seen_ = 0;      // in the previous window; 0: other widths, or none
  int settling_ = 0;          // windows to skip after a move
  Trial trial_ = Trial::kNone;
  Widths too_few_;          // widths that a trial has shown to be too small; until the work changes
  Widths before_;           // the trial
  double rate_before_ = 0;  // likewise
  double expected_ = 0;     // of the trial
  double limit_ = 0;        // the rate found by a failed trial; 0: none
  Measured known_;          // when the limit was found
  int changed_windows_ = 0;   // consecutive windows whose work differed from known_
  double improve_after_ = 0;  // a time
  double improve_pause_ = 0;  // after the next failure
  double other_work_;         // see WorkChanged
  bool changed_ = false;      // the work, since the last trial
  double explore_after_ = 0;  // a time: trials against the model's expectation are rare
  double reduce_after_ = 0;
  double reduce_pause_ = 0;
  bool reduced_ = false;  // since more calls were last needed
  int idle_windows_ = 0;
  std::vector<TunerMove> log_;
};

}  // namespace penstock
