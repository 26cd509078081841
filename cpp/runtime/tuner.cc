// The decisions of Climber, one window at a time.
#include "runtime/tuner.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace penstock {
namespace {

constexpr double kConsumerWaits = 0.02;       // above: a higher value may help
constexpr double kConsumerWaitsAgain = 0.05;  // above: a frozen knob thaws
constexpr double kNeededGain = 0.03;          // of the output rate; less is noise
constexpr double kBufferAlwaysFull = 0.95;    // above: the stage is faster than needed
constexpr int kIdleWindowsToLower = 3;
constexpr int kIdleWindowsToThaw = 10;
constexpr int kQuietWindowsToFreeze = 5;
constexpr int kLongestCoolDown = 128;

std::string Percent(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", fraction * 100);
  return text;
}

}  // namespace

void Climber::CoolDown::Fail() {
  left = next;
  next = std::min(next * 2, kLongestCoolDown);
}

Climber::Climber(std::string knob, int min, int max)
    : knob_(std::move(knob)), min_(min), max_(max) {}

int Climber::Decide(int value, const Window& window) {
  if (!(window.seconds > 0)) return value;
  time_ += window.seconds;
  if (trial_ == Trial::kRaise) return JudgeRaise(value, window);
  if (trial_ == Trial::kLower) return JudgeLower(value, window);

  raise_.left = std::max(raise_.left - 1, 0);
  lower_.left = std::max(lower_.left - 1, 0);
  if (frozen_ && !Thaw(value, window)) return value;
  if (window.consumer_wait_fraction > kConsumerWaits) return TryRaise(value, window);
  return TryLower(value, window);
}

bool Climber::Thaw(int value, const Window& window) {
  const bool idle = window.buffer_full_fraction >= kBufferAlwaysFull && value > min_;
  idle_windows_ = idle ? idle_windows_ + 1 : 0;
  std::string reason;
  if (window.consumer_wait_fraction > kConsumerWaitsAgain && value < max_) {
    reason = "resumed: the consumer waits " + Percent(window.consumer_wait_fraction);
  } else if (idle_windows_ >= kIdleWindowsToThaw) {
    reason = "resumed: the buffer has been full for " + std::to_string(idle_windows_) + " windows";
  } else {
    return false;
  }
  frozen_ = false;
  quiet_windows_ = 0;
  Move(value, value, std::move(reason));
  return true;
}

int Climber::JudgeRaise(int value, const Window& window) {
  trial_ = Trial::kNone;
  if (window.consumer_wait_fraction <= kConsumerWaits) {
    raise_.Succeed();
    return value;  // the aim itself was reached, whatever the rate says
  }
  const double gain = window.outputs / window.seconds / std::max(rate_before_, 1e-12) - 1;
  if (gain >= kNeededGain) {
    raise_.Succeed();
    return TryRaise(value, window);
  }
  raise_.Fail();
  return Move(value, value_before_,
              "reverted: " + std::to_string(value) + " gave " + Percent(gain) +
                  " more output, less than " + Percent(kNeededGain) + "; next try in " +
                  std::to_string(raise_.left) + " windows");
}

int Climber::JudgeLower(int value, const Window& window) {
  trial_ = Trial::kNone;
  if (window.consumer_wait_fraction <= kConsumerWaits) {
    lower_.Succeed();
    return value;
  }
  lower_.Fail();
  return Move(value, std::min(value_before_, max_),
              "reverted: with " + std::to_string(value) + " the consumer waits " +
                  Percent(window.consumer_wait_fraction) + "; next try in " +
                  std::to_string(lower_.left) + " windows");
}

int Climber::TryRaise(int value, const Window& window) {
  idle_windows_ = 0;
  if (value >= max_) return Quiet(value);
  quiet_windows_ = 0;
  if (raise_.left > 0) return value;
  trial_ = Trial::kRaise;
  value_before_ = value;
  rate_before_ = window.outputs / window.seconds;
  // By half: a step of one on a large value could not show the gain that a trial needs.
  return Move(value, std::min(value + std::max(value / 2, 1), max_),
              "raised: the consumer waits " + Percent(window.consumer_wait_fraction));
}

int Climber::TryLower(int value, const Window& window) {
  const bool idle = window.buffer_full_fraction >= kBufferAlwaysFull && value > min_;
  idle_windows_ = idle ? idle_windows_ + 1 : 0;
  if (!idle) return Quiet(value);
  quiet_windows_ = 0;
  if (idle_windows_ < kIdleWindowsToLower || lower_.left > 0) return value;
  idle_windows_ = 0;
  trial_ = Trial::kLower;
  value_before_ = value;
  return Move(value, value - 1,
              "lowered: the buffer is full " + Percent(window.buffer_full_fraction) +
                  " of the time and the consumer does not wait");
}

int Climber::Quiet(int value) {
  if (++quiet_windows_ < kQuietWindowsToFreeze) return value;
  quiet_windows_ = 0;
  frozen_ = true;
  return Move(value, value, "frozen: nothing to do for 5 windows");
}

int Climber::Move(int from, int to, std::string reason) {
  log_.push_back({time_, knob_, from, to, std::move(reason)});
  return to;
}

}  // namespace penstock
