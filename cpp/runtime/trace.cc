// The event rings of all threads, and their JSON.
#include "runtime/trace.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_set>

#include "runtime/activity.h"
#include "runtime/fork.h"
#include "runtime/platform.h"

#if defined(PENSTOCK_POSIX)
#include <unistd.h>
#endif

namespace penstock {

std::atomic<bool> Trace::enabled_{false};

namespace {

// The events of one thread under one name. Only that thread writes; the mutex is for Stop, so it is
// uncontended whenever an event is emitted.
struct Track {
  std::mutex mutex;  // a leaf: nothing else is locked under it
  std::vector<TraceEvent> events;
  size_t capacity = 0;
  uint64_t emitted = 0;
  bool open = true;  // until Stop or a new Start takes the events
  int number = 0;
  const char* thread_name = "";
};

// Leaked, and replaced in a fork child, where another thread may have held the mutex.
struct TraceRegistry {
  std::mutex mutex;  // locked before Track::mutex
  // Nodes never move, and neither do their texts.
  std::unordered_set<std::string> names;
  std::vector<std::shared_ptr<Track>> tracks;
  size_t events_per_thread = 0;
  bool active = false;
  uint64_t dropped = 0;
};

std::atomic<TraceRegistry*> current_registry{nullptr};

struct ThreadTrace {
  const char* name = "";
  std::shared_ptr<Track> track;
};
thread_local ThreadTrace this_trace;

TraceRegistry& TheTraceRegistry() {
  static const bool registered = [] {
    // release: pairs with acquire below, like any other store; the child has one thread.
    OnForkChild([] {
      current_registry.store(nullptr, std::memory_order_release);
      this_trace.track.reset();  // belongs to the parent's recording
    });
    return true;
  }();
  (void)registered;
  TraceRegistry* registry =
      current_registry.load(std::memory_order_acquire);  // pairs with the exchange
  if (registry == nullptr) {
    auto* fresh = new TraceRegistry;
    if (current_registry.compare_exchange_strong(registry, fresh, std::memory_order_acq_rel)) {
      registry = fresh;
    } else {
      delete fresh;
    }
  }
  return *registry;
}

// Null if nothing is being recorded.
std::shared_ptr<Track> OpenTrack(const char* thread_name) {
  TraceRegistry& registry = TheTraceRegistry();
  const std::lock_guard lock(registry.mutex);
  if (!registry.active) return nullptr;
  auto track = std::make_shared<Track>();
  track->capacity = registry.events_per_thread;
  track->number = static_cast<int>(registry.tracks.size()) + 1;
  track->thread_name = thread_name;
  registry.tracks.push_back(track);
  return track;
}

// False if the track is closed: its thread needs a new one.
bool Append(Track& track, TraceEvent event) {
  const std::lock_guard lock(track.mutex);
  if (!track.open) return false;
  event.thread = track.number;
  event.thread_name = track.thread_name;
  if (track.events.size() < track.capacity) {
    track.events.push_back(event);
  } else {
    track.events[track.emitted % track.capacity] = event;
  }
  ++track.emitted;
  return true;
}

// Takes all events and closes the tracks. Requires registry.mutex.
std::vector<TraceEvent> CloseTracks(TraceRegistry& registry) {
  std::vector<TraceEvent> all;
  registry.dropped = 0;
  for (const auto& track : registry.tracks) {
    const std::lock_guard lock(track->mutex);
    all.insert(all.end(), track->events.begin(), track->events.end());
    registry.dropped += track->emitted - track->events.size();
    track->events = {};
    track->open = false;
  }
  registry.tracks.clear();
  return all;
}

void AppendQuoted(std::string& out, const char* text) {
  out += '"';
  for (const char* p = text; *p != '\0'; ++p) {
    const auto c = static_cast<unsigned char>(*p);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += *p;
    } else if (c < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += *p;
    }
  }
  out += '"';
}

int ProcessId() {
#if defined(PENSTOCK_POSIX)
  return static_cast<int>(getpid());
#else
  return 1;
#endif
}

void AppendEvent(std::string& out, const TraceEvent& e, int pid) {
  char text[160];
  out += "{\"name\":";
  AppendQuoted(out, e.name);
  std::snprintf(text, sizeof text, ",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f",
                pid, e.thread, static_cast<double>(e.start_ns) / 1e3,
                static_cast<double>(e.end_ns - e.start_ns) / 1e3);
  out += text;
  if (e.index >= 0) {
    std::snprintf(text, sizeof text, ",\"args\":{\"index\":%lld}", static_cast<long long>(e.index));
    out += text;
  }
  out += "},\n";
}

void AppendThreadName(std::string& out, const TraceEvent& e, int pid) {
  char text[96];
  std::snprintf(text, sizeof text,
                "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":",
                pid, e.thread);
  out += text;
  AppendQuoted(out, e.thread_name);
  out += "}},\n";
}

}  // namespace

const char* InternName(std::string_view name) {
  TraceRegistry& registry = TheTraceRegistry();
  const std::lock_guard lock(registry.mutex);
  return registry.names.emplace(name).first->c_str();
}

void Trace::Start(size_t events_per_thread) {
  static const bool registered = [] {
    OnForkChild([] { enabled_.store(false, std::memory_order_relaxed); });  // a hint, as below
    return true;
  }();
  (void)registered;
  TraceRegistry& registry = TheTraceRegistry();
  const std::lock_guard lock(registry.mutex);
  CloseTracks(registry);
  registry.dropped = 0;
  registry.events_per_thread = std::max<size_t>(events_per_thread, 1);
  registry.active = true;
  enabled_.store(true, std::memory_order_relaxed);  // a hint; mutexes protect the tracks
}

std::vector<TraceEvent> Trace::Stop() {
  std::vector<TraceEvent> all;
  {
    TraceRegistry& registry = TheTraceRegistry();
    const std::lock_guard lock(registry.mutex);
    enabled_.store(false, std::memory_order_relaxed);  // a hint, as in Start
    registry.active = false;
    all = CloseTracks(registry);
  }
  std::stable_sort(all.begin(), all.end(), [](const TraceEvent& a, const TraceEvent& b) {
    return a.start_ns < b.start_ns;
  });
  return all;
}

// Format: "Trace Event Format" (Chrome): complete events "X" in microseconds, metadata events "M".
std::string Trace::StopJson() {
  const std::vector<TraceEvent> events = Stop();
  const int pid = ProcessId();
  std::string out = "{\"traceEvents\":[\n";
  std::vector<bool> named;
  for (const TraceEvent& e : events) {
    const auto track = static_cast<size_t>(e.thread);
    if (named.size() <= track) named.resize(track + 1);
    if (!named[track] && *e.thread_name != '\0') AppendThreadName(out, e, pid);
    named[track] = true;
    AppendEvent(out, e, pid);
  }
  if (!events.empty()) out.erase(out.size() - 2, 1);  // the last comma
  out += "],\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped_events\":" +
         std::to_string(dropped()) + "}}\n";
  return out;
}

uint64_t Trace::dropped() {
  TraceRegistry& registry = TheTraceRegistry();
  const std::lock_guard lock(registry.mutex);
  return registry.dropped;
}

void Trace::Emit(const char* interned_name, MonoTime start_ns, MonoTime end_ns,
                 int64_t index) noexcept {
  if (!enabled()) return;
  const TraceEvent event{interned_name, "", 0, start_ns, end_ns, index};
  ThreadTrace& mine = this_trace;
  try {
    if (mine.track != nullptr && Append(*mine.track, event)) return;
    mine.track = OpenTrack(mine.name);
    if (mine.track != nullptr) Append(*mine.track, event);
  } catch (const std::bad_alloc&) {
    // The event is lost; the traced program continues.
  }
}

void Trace::SetThreadName(std::string_view name) noexcept {
  try {
    const char* const interned = InternName(name);
    ThreadTrace& mine = this_trace;
    Activity::SetThreadName(interned);
    if (mine.name == interned) return;
    mine.name = interned;
    mine.track.reset();
  } catch (const std::bad_alloc&) {  // a trace is not worth ending a thread for
  }
}

}  // namespace penstock
