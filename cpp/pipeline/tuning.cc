// Windows of half a second, and the log of what was moved.
#include "pipeline/tuning.h"

#include <algorithm>
#include <utility>

#include "runtime/clock.h"

namespace penstock {
namespace {

constexpr int64_t kWindowNs = 500'000'000;

}  // namespace

Tuning::Tuning(Session& session, std::string stage, const char* knob, int start, int most,
               bool fixed)
    : session_(session),
      stage_(std::move(stage)),
      fixed_(fixed),
      width_(fixed ? most : std::min(start, most)),
      climber_(knob, 1, most) {}

bool Tuning::Decide() {
  if (fixed_) return false;
  int64_t now = NowNs();
  if (start_ns_ == 0) start_ns_ = now;
  int64_t passed = now - start_ns_;
  if (passed < kWindowNs) return false;
  Window window;
  window.outputs = static_cast<double>(delivered_);
  window.seconds = static_cast<double>(passed) * 1e-9;
  window.consumer_wait_fraction = static_cast<double>(waited_ns_) / static_cast<double>(passed);
  window.buffer_full_fraction = waited_ns_ == 0 ? 1 : 0;
  size_t logged = climber_.log().size();
  width_.store(climber_.Decide(width(), window), std::memory_order_relaxed);
  for (; logged < climber_.log().size(); ++logged) {
    const TunerMove& move = climber_.log()[logged];
    session_.LogMove({0, stage_, move.knob, move.old_value, move.new_value, move.reason});
  }
  start_ns_ = now;
  delivered_ = 0;
  waited_ns_ = 0;
  return true;
}

}  // namespace penstock
