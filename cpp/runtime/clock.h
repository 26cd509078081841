// The monotonic clock: every time in the engine is in int64 nanoseconds of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace penstock {

// Nanoseconds of std::chrono::steady_clock (CLOCK_MONOTONIC on Linux), which never goes backwards.
using MonoTime = int64_t;

inline constexpr MonoTime kNoDeadline = std::numeric_limits<MonoTime>::max();

inline MonoTime NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace penstock
