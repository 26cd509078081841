// Decides which slow calls become texts.
#include "runtime/slow_log.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "runtime/clock.h"

namespace penstock {
namespace {

constexpr int64_t kAllUpTo = 5;
constexpr int64_t kBetweenNs = int64_t{10} * 1'000'000'000;

std::string Seconds(int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g s", static_cast<double>(ns) * 1e-9);
  return text;
}

}  // namespace

void SlowLog::Note(const std::string& what, int64_t ns) {
  const MonoTime now = NowNs();
  const std::lock_guard lock(mutex_);
  if (told_ >= kAllUpTo && now - told_at_ < kBetweenNs) {
    ++left_out_;
    slowest_left_out_ns_ = std::max(slowest_left_out_ns_, ns);
    return;
  }
  ++told_;
  told_at_ = now;
  std::string text =
      what + " took " + Seconds(ns) + " (Options.slow_element_seconds: " + Seconds(limit_ns_) + ")";
  if (left_out_ > 0) text += "; before it " + LeftOut();
  texts_.push_back(std::move(text));
  has_texts_.store(true, std::memory_order_relaxed);
}

std::vector<std::string> SlowLog::Take(bool end) {
  const std::lock_guard lock(mutex_);
  if (end && left_out_ > 0) texts_.push_back("of slow calls and reads, " + LeftOut());
  has_texts_.store(false, std::memory_order_relaxed);
  return std::exchange(texts_, {});
}

// Resets the counts.
std::string SlowLog::LeftOut() {
  const int64_t slowest = std::exchange(slowest_left_out_ns_, 0);
  return std::to_string(std::exchange(left_out_, 0)) + " more were left out, which took up to " +
         Seconds(slowest);
}

}  // namespace penstock
