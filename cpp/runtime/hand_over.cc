// The windows in which takes are counted, and what they say.
#include "runtime/hand_over.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace penstock {
namespace {

constexpr int64_t kFirst = 8;           // takes before the first window
constexpr int64_t kWindow = 32;         // takes
constexpr int64_t kFew = 8;             // takes of a window in which a thread costs very much
constexpr double kMuch = 2;             // times what there is without
constexpr MonoTime kLeastNs = 300'000;  // of a window
constexpr int64_t kMostNeeded = 256;    // windows
constexpr double kWorth = 1.03;         // a smaller difference is none
constexpr double kGrows = 1.25;
// With several makers: so far from what they could reach, and with so little gained.
constexpr double kFar = 1.3;
constexpr double kLittle = 0.6;
std::atomic<int64_t> change_every{0};  // relaxed: a number that stands alone

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
  // What has waited since before says nothing about what it takes to make more.
  const double each =
      made > 0 ? static_cast<double>(made_ns - made_ns_) / static_cast<double>(made) : 0;
  const double making = each * static_cast<double>(rows_);
  const bool costly =
      pays_ && made > 0 && passed > kMuch * (making + static_cast<double>(outside_));
  if (takes_ < kWindow && !costly) return false;
  // More and more rows come at a time: what handing over costs is not known yet.
  const double together = static_cast<double>(rows_) / static_cast<double>(takes_);
  if (pays_ && together > kGrows * std::exchange(together_, together)) {
    Restart(now, made_ns, made_rows);
    return false;
  }
  const double row = passed / static_cast<double>(std::max<int64_t>(rows_, 1));
  if (made > 0) {
    if (pays_) {
      each_before_ = each;
    } else if (each_before_ > 0 && each > 0) {
      slowing_ = std::max(std::exchange(each_before_, 0) / each, 1.0);
    }
    const bool change = Weigh(passed, making, makers);
    agreed_ = change ? agreed_ + 1 : 0;
  }
  Restart(now, made_ns, made_rows);
  const double before = pays_ ? 0 : std::exchange(before_, 0);
  const bool worse = before > 0 && row > before * kWorth;
  if (agreed_ < needed_ && !worse) return false;
  agreed_ = 0;
  needed_ = std::min(2 * needed_, kMostNeeded);
  if (pays_) before_ = row;
  pays_ = !pays_;
  began_ = takes_ = 0;  // what is ready, and what starts, is not counted
  return true;
}

// Whether a window of `passed` nanoseconds, in which what was taken took `making`, is for a change.
bool HandOver::Weigh(double passed, double making, int makers) {
  const double use = pays_ ? static_cast<double>(outside_) : std::max(passed - making, 0.0);
  const double longer = std::max(making * (pays_ ? 1 : slowing_) / makers, use);
  const auto takes = static_cast<double>(takes_);
  if (!pays_) return (longer + cost_ * takes) * kWorth < making + use;
  cost_ = std::max(passed - longer, 0.0) / takes;
  if (makers > 1 && passed > kFar * longer && passed > kLittle * (making + use)) return true;
  return passed > kWorth * (making + use);
}

void HandOver::Restart(MonoTime now, int64_t made_ns, int64_t made_rows) {
  began_ = now;
  takes_ = rows_ = 0;
  outside_ = 0;
  made_ns_ = made_ns;
  made_rows_ = made_rows;
}

}  // namespace penstock
