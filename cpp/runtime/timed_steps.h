// Decides which of many steps are timed.
#pragma once

#include <cstdint>

namespace penstock {

// Reading the clock twice takes as long as a quick step. So of steps that take less than kQuickNs,
// one in kEvery is timed and stands for those in between. The recent mean decides: if some steps
// are slow (a full batch, an input that waits), all are timed.
template <int64_t kQuickNs, uint32_t kEvery>
class TimedSteps final {
 public:
  // Whether to time the next step.
  bool Due() {
    if (untimed_ == 0) return true;
    --untimed_;
    return false;
  }
  // Reports the duration of a timed step.
  void Took(int64_t ns) {
    mean_ns_ += (ns - mean_ns_) / 4;
    untimed_ = quick() ? kEvery - 1 : 0;
  }
  // The number of steps that the last timed one stands for.
  int64_t stands_for() const { return quick() ? kEvery : 1; }

 private:
  bool quick() const { return mean_ns_ < kQuickNs; }

  uint32_t untimed_ = 0;  // steps until the next timed one
  int64_t mean_ns_ = 0;   // of the timed steps
};

}  // namespace penstock
