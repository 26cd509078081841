// Decisions every half second, and the log of what was moved.
#include "engine/tuning.h"

#include <algorithm>
#include <utility>

#include "runtime/clock.h"

namespace penstock {
namespace {

constexpr int64_t kWindowNs = 500'000'000;

constexpr int64_t kMostAutotunedCalls = 16;
constexpr int64_t kMostThreads = 1 << 20;  // more than can be had

}  // namespace

int MostCalls(const Session& session, int64_t calls, bool compute) {
  if (calls == kAutotune) {
    const RunOptions& options = session.options();
    calls = std::max({kMostAutotunedCalls, options.least_calls, options.first_calls});
    if (options.cpu_budget > 0) calls = std::min(calls, options.cpu_budget);
  }
  if (compute) calls = std::min<int64_t>(calls, session.threads());
  return static_cast<int>(std::clamp<int64_t>(calls, 1, kMostThreads));
}

Tuning::Tuning(Session& session, StageLabel stage, const char* knob, int start, int most,
               bool fixed)
    : session_(session),
      stage_(std::move(stage)),
      fixed_(fixed),
      most_(most),
      width_(fixed ? most : Start(start, most)),
      climber_(knob, Least(most), most) {}

Tuning::~Tuning() {
  if (!fixed_) session_.GiveCalls(width());
}

int Tuning::Least(int most) const {
  return static_cast<int>(std::clamp<int64_t>(session_.options().least_calls, 1, most));
}

int Tuning::Start(int start, int most) {
  int64_t wanted = session_.options().first_calls;
  if (wanted <= 0) wanted = start;
  return static_cast<int>(session_.TakeFirstCalls(std::clamp<int64_t>(wanted, Least(most), most)));
}

bool Tuning::Decide() {
  if (fixed_ || !session_.options().tunes) return false;
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
  int before = width();
  int64_t extra = session_.TakeCalls(0, most_ - before);
  climber_.set_max(before + static_cast<int>(extra));
  int after = climber_.Decide(before, window);
  session_.GiveCalls(extra - (after - before));
  width_.store(after, std::memory_order_relaxed);
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
