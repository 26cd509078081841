// Trace: what each thread did and when, as Chrome/Perfetto JSON.
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
  const char* thread_name;  // interned; "" if the thread has none
  int thread;               // number of the thread's track, from 1
  MonoTime start_ns;
  MonoTime end_ns;
  int64_t index;  // of the element; -1: none
};

// Returns a copy that is never freed; equal texts return the same pointer. For names of stages: few
// and long-lived.
const char* InternName(std::string_view name);

// One recording per process at a time. Each thread keeps its newest events and drops the oldest.
// Events survive the end of their thread until Stop.
class Trace final {
 public:
  Trace() = delete;

  // One relaxed load: events around Start and Stop may be missed.
  static bool enabled() { return enabled_.load(std::memory_order_relaxed); }

  // Starts a recording; events of an earlier one are lost.
  static void Start(size_t events_per_thread = size_t{1} << 16);
  // Stops it: returns all events in order of their start.
  static std::vector<TraceEvent> Stop();
  // Stops it: returns text for ui.perfetto.dev or chrome://tracing.
  static std::string StopJson();
  // The number of overwritten events in the recording that Stop returned last.
  static uint64_t dropped();

  static void Emit(const char* interned_name, MonoTime start_ns, MonoTime end_ns,
                   int64_t index = -1) noexcept;
  // Sets the calling thread's name; a new name opens a new track. If there is no memory for it, the
  // thread keeps its old name.
  static void SetThreadName(std::string_view name) noexcept;

 private:
  static std::atomic<bool> enabled_;
};

}  // namespace penstock
