// Which of many steps are timed.
#pragma once

#include <cstdint>

namespace penstock {

// Two looks at the clock take as long as a quick step. So of steps that take less than kQuickNs,
// one in kEvery is timed, and stands for those in between. The recent mean says what is quick:
// steps of which some are slow (a full batch, an input that waits) are all timed.
template <int64_t kQuickNs, uint32_t kEvery>
class TimedSteps final {
 public:
  // Whether the next step is to be timed.
  bool Due() {
    if (untimed_ == 0) return true;
    --untimed_;
    return false;
  }
  // How long a step took that was timed.
  void Took(int64_t ns) {
    mean_ns_ += (ns - mean_ns_) / 4;
    untimed_ = quick() ? kEvery - 1 : 0;
  }
  // How many steps the last timed one stands for.
  int64_t stands_for() const { return quick() ? kEvery : 1; }

 private:
  bool quick() const { return mean_ns_ < kQuickNs; }

  uint32_t untimed_ = 0;  // steps until the next timed one
  int64_t mean_ns_ = 0;   // of the steps that were timed
};

}  // namespace penstock
