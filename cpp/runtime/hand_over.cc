// Measures takes in windows, and decides by them.
#include "runtime/hand_over.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace penstock {
namespace {

constexpr int64_t kFirst = 8;           // takes before the first window
constexpr int64_t kWindow = 32;         // takes
constexpr int64_t kFew = 8;             // takes of a window in which a thread costs very much
constexpr double kMuch = 1.4;           // times the cost without a thread
constexpr MonoTime kLeastNs = 300'000;  // minimum duration of a window
constexpr int64_t kMostNeeded = 256;    // windows
constexpr double kWorth = 1.03;         // smaller differences are ignored
constexpr double kGrows = 1.25;
constexpr double kForgets = 8;   // windows
constexpr double kLittle = 0.6;  // of the sum of both sides' work: gains are small above this
constexpr double kFar = 1.3;     // times the best possible with several producers
constexpr double kQuickNs = 1'000'000;  // per take: trials without a thread need less
std::atomic<int64_t> change_every{0};   // relaxed: an independent value

}  // namespace

void HandOver::ChangeEvery(int64_t takes) { change_every.store(takes, std::memory_order_relaxed); }

void HandOver::Asked(MonoTime now) {
  if (left_ != 0) outside_ += now - left_;
}

void HandOver::TookUntimed(int64_t rows) {
  ++takes_;
  rows_ += rows;
}

bool HandOver::Took(MonoTime now, int64_t rows, int64_t made_ns, int64_t made_rows, int makers) {
  left_ = now;
  ++takes_;
  rows_ += rows;
  if (const int64_t every = change_every.load(std::memory_order_relaxed); every > 0) {
    if (takes_ < every) return false;
    takes_ = 0;
    pays_ = !pays_;
    return true;
  }
  if (began_ == 0) {
    if (takes_ >= kFirst) Restart(now, made_ns, made_rows);
    return false;
  }
  if (takes_ < kFew || now - began_ < kLeastNs) return false;
  const int64_t made = made_rows - made_rows_;
  const auto passed = static_cast<double>(now - began_);
  // Rows that were waiting since before say nothing about the cost of producing more.
  const double each =
      made > 0 ? static_cast<double>(made_ns - made_ns_) / static_cast<double>(made) : 0;
  const double making = each * static_cast<double>(rows_);
  const bool costly =
      pays_ && made > 0 && passed > kMuch * (making + static_cast<double>(outside_));
  if (takes_ < kWindow && !costly) return false;
  // Takes are still growing: the cost of handing over is not known yet.
  const double together = static_cast<double>(rows_) / static_cast<double>(takes_);
  if (pays_ && together > kGrows * std::exchange(together_, together)) {
    Restart(now, made_ns, made_rows);
    return false;
  }
  const double row = passed / static_cast<double>(std::max<int64_t>(rows_, 1));
  bool worse = false;
  if (made > 0) {
    if (other_ > 0) {
      worse = row > std::exchange(other_, 0) * (doubts_ ? 1 / kWorth : kWorth);
    }
    if (!pays_ && each_before_ > 0 && each > 0) {
      slowing_ = std::max(std::exchange(each_before_, 0) / each, 1.0);
    }
    // Other programs may have slowed a window down, or the user may have paused: slow windows have
    // little weight.
    const bool best = row_ == 0 || row < row_;
    row_ = best ? row : row_ + std::min(row - row_, row_ / 2) / kForgets;
    if (best && pays_) each_before_ = each;
    const bool change = Weigh(passed, making, makers, best);
    agreed_ = change ? agreed_ + 1 : 0;
  }
  Restart(now, made_ns, made_rows);
  if (agreed_ < needed_ && !worse) return false;
  agreed_ = 0;
  needed_ = std::min(2 * needed_, kMostNeeded);
  const double before = std::exchange(row_, 0);
  const bool tried = doubts_ || pays_;  // unless it is known to be faster
  other_ = tried && !worse ? before : 0;
  pays_ = !pays_;
  began_ = takes_ = 0;  // rows already waiting and starting threads are not counted
  return true;
}

// Whether a window of `passed` nanoseconds, whose rows took `making` to produce, favours a change.
bool HandOver::Weigh(double passed, double making, int makers, bool best) {
  const double use = pays_ ? static_cast<double>(outside_) : std::max(passed - making, 0.0);
  const double longer = std::max(making * (pays_ ? 1 : slowing_) / makers, use);
  const double sum = making + use;
  const auto takes = static_cast<double>(takes_);
  const bool quick = makers == 1 && making < kQuickNs * takes;
  if (!pays_) {
    const bool pays = (longer + cost_ * takes) * kWorth < sum;
    doubts_ = doubts_ && !pays;
    return pays || (doubts_ && quick);
  }
  if (best) cost_ = std::max(passed - longer, 0.0) / takes;
  const bool costs = passed > kWorth * sum;
  const bool tries = quick || (makers > 1 && passed > kFar * longer);
  doubts_ = quick && (!costs || (doubts_ && agreed_ > 0));
  return costs || (tries && passed > kLittle * sum);
}

void HandOver::Restart(MonoTime now, int64_t made_ns, int64_t made_rows) {
  began_ = now;
  takes_ = rows_ = 0;
  outside_ = 0;
  made_ns_ = made_ns;
  made_rows_ = made_rows;
}

}  // namespace penstock
