// The controller that moves the widths of all stages of a run, by the model of the pipeline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/model.h"

namespace penstock {

// What happened at one stage since the last decision, from counters only.
struct StageWindow {
  int width = 1;  // calls at a time
  int least = 1;
  int most = 1;
  int consumer = -1;     // the stage that takes from it; -1: what comes after all of them
  double delivered = 0;  // elements
  double called = 0;     // seconds in calls, of all its threads
  double cpu = 0;        // of these, on a processor
  double pulled = 0;     // seconds in which one of them pulled the input, and waited for it
  double waited = 0;     // seconds that its consumer waited for it
  double bytes = 0;      // of the elements that it made
};

struct PipelineWindow {
  double seconds = 0;
  double processors = 1;
  double elsewhere = 0;             // seconds of processor of all that is not a call of a stage
  double ready = 0;                 // seconds in which threads were ready and had no processor
  int budget = 0;                   // of all widths together; 0: none
  double memory = 0;                // bytes that may be held; 0: any number
  double memory_used = 0;           // at the end
  std::vector<StageWindow> stages;  // a consumer comes after what it takes from
};

struct TunerMove {
  double time = 0;  // seconds: the sum of the windows so far
  size_t stage = 0;
  int old_value = 0;
  int new_value = 0;
  std::string reason;
};

// The model says which widths reach most, and the fewest that reach it. A change must bring what
// can be measured; otherwise it is taken back, and the rate that was reached counts as a limit that
// the model cannot see (a disk, a lock, the GIL, memory bandwidth) until the work changes, or for
// long. Gains may be hidden from it as well: while the consumer waits, more is tried now and
// then where it expects nothing. A pure function of the windows: no clock, no randomness, no
// thread.
class Tuner final {
 public:
  Tuner();
  // The widths from now on. Call it for each window (0.5 s or so) with the widths in use, and the
  // stages always in the same order; when there are others, make another Tuner.
  std::vector<int> Decide(const PipelineWindow& window);
  const std::vector<TunerMove>& log() const { return log_; }

 private:
  enum class Trial { kNone, kMore, kLess };
  // What was measured, in terms of the elements that come out at the end.
  struct Measured {
    double rate = 0;
    double waiting = 0;             // the share of the time that the last consumer waited
    std::vector<Section> sections;  // of the stages, and of the last consumer
    std::vector<double> ready;      // seconds of each stage without a processor, of neither
    double processors = 1;          // that are left to these
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
  PipelineWindow gathered_;  // windows that were too short to say much
  int gathered_windows_ = 0;
  bool gather_more_ = false;  // before anything is decided
  double variance_ = 0;       // of a window's rate, relative
  double rate_seen_ = 0;      // in the window before; 0: other widths, or none
  int settling_ = 0;          // windows to pass over after a move
  Trial trial_ = Trial::kNone;
  Widths too_few_;            // that a trial has shown to be; as long as the work is the same
  Widths before_;             // the trial
  double rate_before_ = 0;    // likewise
  double expected_ = 0;       // of the trial
  double limit_ = 0;          // the rate that a failed trial has found; 0: none
  Measured known_;            // when the limit was found
  int changed_windows_ = 0;   // in a row, in which the work was other than known
  double improve_after_ = 0;  // the time
  double improve_pause_ = 0;  // after the next failure
  double other_work_;         // see WorkChanged
  bool changed_ = false;      // the work, since the last trial
  double explore_after_ = 0;  // the time: what the model does not expect is tried seldom
  double reduce_after_ = 0;
  double reduce_pause_ = 0;
  bool reduced_ = false;  // since the last time that more were needed
  int idle_windows_ = 0;
  std::vector<TunerMove> log_;
};

}  // namespace penstock
