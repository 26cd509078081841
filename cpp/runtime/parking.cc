// How long threads wait before they leave.
#include "runtime/parking.h"

namespace penstock {
namespace {

// Longer than a training step or a short pause in a notebook. Starting a thread again costs little,
// but a function may have to reopen what it kept for its thread.
std::atomic<MonoTime> patience{10'000'000'000};

}  // namespace

// relaxed: a value to compare.
MonoTime ParkingPatience() { return patience.load(std::memory_order_relaxed); }
void SetParkingPatience(MonoTime nanoseconds) {
  patience.store(nanoseconds, std::memory_order_relaxed);
}

}  // namespace penstock
