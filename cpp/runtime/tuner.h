// The controller that moves one number of a stage while it runs: a buffer limit, a width.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// What happened since the last decision, from counters only.
struct Window {
  double outputs = 0;                 // elements that the pipeline delivered
  double seconds = 0;                 // length of the window
  double consumer_wait_fraction = 0;  // of the window, the consumer waited: 0..1
  double buffer_full_fraction = 0;    // of the window, the stage's buffer was full: 0..1
};

struct TunerMove {
  double time = 0;  // seconds: the sum of the windows so far
  std::string knob;
  int old_value = 0;
  int new_value = 0;  // equal to old_value when tuning froze or resumed
  std::string reason;
};

// Verify and revert: tries a higher value when the consumer waits, keeps it only if more came out,
// otherwise goes back and tries again later and later. So limits that it cannot see (one Python
// lock, a disk, memory bandwidth) need no model. A pure function of the windows: no clock, no
// randomness, no thread.
class Climber final {
 public:
  Climber(std::string knob, int min, int max);

  // From now on. Not below the value in use.
  void set_max(int max) { max_ = max; }
  // The value to use from now on. Call once for each window (0.5 s or more) with the value in use.
  int Decide(int value, const Window& window);

  bool frozen() const { return frozen_; }
  const std::vector<TunerMove>& log() const { return log_; }

 private:
  enum class Trial { kNone, kRaise, kLower };
  struct CoolDown {
    int left = 0;  // windows until the next try
    int next = 2;  // the length after the next failure; doubles
    void Fail();
    void Succeed() { next = 2; }
  };

  bool Thaw(int value, const Window& window);
  int JudgeRaise(int value, const Window& window);
  int JudgeLower(int value, const Window& window);
  int TryRaise(int value, const Window& window);
  int TryLower(int value, const Window& window);
  int Quiet(int value);
  int Move(int from, int to, std::string reason);

  const std::string knob_;
  const int min_;
  int max_;
  double time_ = 0;
  Trial trial_ = Trial::kNone;  // the last window's change, to be judged by this one
  int value_before_ = 0;
  double rate_before_ = 0;
  CoolDown raise_;
  CoolDown lower_;
  int idle_windows_ = 0;
  int quiet_windows_ = 0;
  bool frozen_ = false;
  std::vector<TunerMove> log_;
};

}  // namespace penstock
