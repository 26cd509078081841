// Trace: what every thread did and when, as Chrome/Perfetto JSON.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/clock.h"

namespace penstock {

struct TraceEvent {
  const char* name;         // interned
  const char* thread_name;  // interned; "" when the thread has none
  int thread;               // number of the thread's track, from 1
  MonoTime start_ns;
  MonoTime end_ns;
  int64_t index;  // of the element; -1: none
};

// A copy that is never freed; equal text gives the same pointer. For names of stages: few and
// long-lived.
const char* InternName(std::string_view name);

// One recording in a process at a time. Each thread keeps its newest events and drops the oldest;
// they survive the thread's end until Stop.
class Trace final {
 public:
  Trace() = delete;

  // One relaxed load: events around the moment of Start and Stop may be missed.
  static bool enabled() { return enabled_.load(std::memory_order_relaxed); }

  // Begins a recording; what an earlier one still held is lost.
  static void Start(size_t events_per_thread = size_t{1} << 16);
  // Ends it: all events in order of their start.
  static std::vector<TraceEvent> Stop();
  // Ends it: text for ui.perfetto.dev or chrome://tracing.
  static std::string StopJson();
  // Events of the recording that Stop returned last which were overwritten.
  static uint64_t dropped();

  static void Emit(const char* interned_name, MonoTime start_ns, MonoTime end_ns,
                   int64_t index = -1) noexcept;
  // The calling thread's name from now on; a new name opens a new track. Without memory for it the
  // thread keeps the name that it had.
  static void SetThreadName(std::string_view name) noexcept;

 private:
  static std::atomic<bool> enabled_;
};

}  // namespace penstock
