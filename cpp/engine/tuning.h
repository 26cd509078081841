// AUTOTUNE of one stage: a width that grows or shrinks by the throughput it brings.
#pragma once

#include <atomic>
#include <string>

#include "engine/session.h"
#include "runtime/tuner.h"

namespace penstock {

// How many concurrent calls a stage may have that was given `calls`, perhaps kAutotune. Calls that
// only compute would take turns if they were more than the threads.
int MostCalls(const Session& session, int64_t calls, bool compute);

// A stage's membership among those that share the calls of AUTOTUNE. It is declared before the
// stage's input.
class CallShare final {
 public:
  CallShare(Session& session, bool takes) : session_(session), stages_(takes ? 1 : 0) {
    session_.ShareCalls(stages_);
  }
  ~CallShare() { session_.ShareCalls(-stages_); }
  CallShare(const CallShare&) = delete;
  CallShare& operator=(const CallShare&) = delete;

 private:
  Session& session_;
  const int stages_;
};

// Counts what the consumer gets and how long it waits, and every half second lets the climber move
// the width. For the consumer's thread; the width may be read by any.
class Tuning final {
 public:
  // `fixed`: the width stays at `most`. Else it starts at `start`, or what the options say instead,
  // and moves up to `most` as far as the calls of the session suffice.
  Tuning(Session& session, StageLabel stage, const char* knob, int start, int most, bool fixed);
  ~Tuning();
  Tuning(const Tuning&) = delete;
  Tuning& operator=(const Tuning&) = delete;

  int width() const { return width_.load(std::memory_order_relaxed); }  // it orders nothing
  void Waited(int64_t ns) { waited_ns_ += ns; }
  void Delivered(int64_t steps) { delivered_ += steps; }
  // Whether a decision was made: the width may be another.
  bool Decide();

 private:
  int Least(int most) const;
  int Start(int start, int most);

  Session& session_;
  const StageLabel stage_;
  const bool fixed_;
  const int most_;
  std::atomic<int> width_;
  Climber climber_;
  // The present interval of measurement.
  int64_t start_ns_ = 0;
  int64_t delivered_ = 0;
  int64_t waited_ns_ = 0;
};

}  // namespace penstock
