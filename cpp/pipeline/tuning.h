// AUTOTUNE of one stage: a width that moves by what it brings.
#pragma once

#include <atomic>
#include <string>

#include "pipeline/session.h"
#include "runtime/tuner.h"

namespace penstock {

// Counts what the consumer gets and how long it waits, and every half second lets the climber move
// the width. For the consumer's thread; the width may be read by any.
class Tuning final {
 public:
  // `fixed`: the width stays at `most`. Else it starts at `start` and moves between 1 and `most`.
  Tuning(Session& session, std::string stage, const char* knob, int start, int most, bool fixed);

  int width() const { return width_.load(std::memory_order_relaxed); }  // it orders nothing
  void Waited(int64_t ns) { waited_ns_ += ns; }
  void Delivered(int64_t steps) { delivered_ += steps; }
  // Whether a decision was made: the width may be another.
  bool Decide();

 private:
  Session& session_;
  const std::string stage_;
  const bool fixed_;
  std::atomic<int> width_;
  Climber climber_;
  // The present window.
  int64_t start_ns_ = 0;
  int64_t delivered_ = 0;
  int64_t waited_ns_ = 0;
};

}  // namespace penstock
