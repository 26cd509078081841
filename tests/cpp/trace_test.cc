// Trace: events of many threads, overwriting, names, JSON.
#include "runtime/trace.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "fork_child.h"

namespace penstock {
namespace {

TEST(InternName_gives_equal_text_the_same_pointer) {
  std::string text = "batch";
  const char* const a = InternName(text);
  text[0] = 'c';
  CHECK(a == InternName("batch"));
  CHECK_EQ(std::string(a), "batch");
  CHECK(a != InternName(text));
}

TEST(Trace_records_only_while_it_is_on) {
  const char* const name = InternName("map");
  Trace::Emit(name, 1, 2);
  CHECK(!Trace::enabled());
  CHECK(Trace::Stop().empty());
  Trace::Start();
  CHECK(Trace::enabled());
  const MonoTime now = NowNs();
  Trace::Emit(name, now, now, 2);
  Trace::Emit(name, 5, 7);
  const std::vector<TraceEvent> events = Trace::Stop();
  CHECK_EQ(events.size(), 2u);
  CHECK_EQ(events[0].start_ns, 5);  // sorted by start
  CHECK_EQ(events[0].end_ns, 7);
  CHECK_EQ(events[0].index, -1);
  CHECK_EQ(events[1].index, 2);
  CHECK(events[1].end_ns >= events[1].start_ns);
  CHECK(events[1].name == name);
  CHECK(Trace::Stop().empty());
}

TEST(Trace_keeps_the_newest_and_counts_the_dropped) {
  Trace::Start(10);
  for (int i = 0; i < 25; ++i) Trace::Emit(InternName("x"), i, i + 1, i);
  const std::vector<TraceEvent> events = Trace::Stop();
  CHECK_EQ(events.size(), 10u);
  CHECK_EQ(events.front().index, 15);
  CHECK_EQ(events.back().index, 24);
  CHECK_EQ(Trace::dropped(), 15u);
}

TEST(Trace_keeps_events_of_ended_threads_and_their_names) {
  Trace::Start();
  for (int t = 0; t < 3; ++t) {
    std::thread([t] {
      Trace::SetThreadName("thread " + std::to_string(t));
      Trace::Emit(InternName("work"), t, t + 1);
    }).join();
  }
  const std::vector<TraceEvent> events = Trace::Stop();
  CHECK_EQ(events.size(), 3u);
  for (int t = 0; t < 3; ++t) {
    CHECK_EQ(std::string(events[t].thread_name), "thread " + std::to_string(t));
    CHECK_EQ(events[t].thread, t + 1);
  }
}

TEST(Trace_restart_drops_what_was_recorded) {
  Trace::Start();
  Trace::Emit(InternName("old"), 1, 2);
  Trace::Start();
  Trace::Emit(InternName("new"), 3, 4);
  const std::vector<TraceEvent> events = Trace::Stop();
  CHECK_EQ(events.size(), 1u);
  CHECK_EQ(std::string(events[0].name), "new");
}

TEST(Trace_json_is_escaped_and_in_microseconds) {
  Trace::Start();
  std::thread([] {
    Trace::SetThreadName("pump \"1\"");
    Trace::Emit(InternName("a\\b\n"), 1'000'500, 1'002'500, 7);
  }).join();
  const std::string json = Trace::StopJson();
  const auto has = [&](const char* text) { return json.find(text) != std::string::npos; };
  CHECK(has("\"name\":\"a\\\\b\\u000a\""));
  CHECK(has("\"ts\":1000.500,\"dur\":2.000,\"args\":{\"index\":7}}\n]"));
  CHECK(has("\"ph\":\"M\""));
  CHECK(has("{\"name\":\"pump \\\"1\\\"\"}"));
  CHECK(has("\"dropped_events\":0"));
  CHECK_EQ(Trace::StopJson(),
           "{\"traceEvents\":[\n],\"displayTimeUnit\":\"ns\","
           "\"otherData\":{\"dropped_events\":0}}\n");
}

TEST(Trace_threads_emit_while_recordings_start_and_stop) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const char* const name = InternName("stress " + std::to_string(t));
      for (int i = 0; !stop.load(std::memory_order_relaxed); ++i) {
        const MonoTime start = NowNs();
        Trace::Emit(name, start, NowNs(), t);
        if (i % 1000 == 0) std::this_thread::yield();
      }
    });
  }
  bool good = true;
  size_t total = 0;
  for (int round = 0; round < 200; ++round) {
    Trace::Start(100);
    std::this_thread::yield();
    const std::vector<TraceEvent> events = Trace::Stop();
    total += events.size();
    for (const TraceEvent& e : events) {
      good = good && e.name == InternName("stress " + std::to_string(e.index)) &&
             e.end_ns >= e.start_ns;
    }
  }
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& t : threads) t.join();
  CHECK(good);
  CHECK(total > 0);
}

#if defined(PENSTOCK_TEST_FORK)
TEST(Trace_fork_child_starts_without_a_recording) {
  Trace::Start();
  Trace::Emit(InternName("parent"), 1, 2);
  CHECK_EQ(InForkChild([] {
             if (Trace::enabled()) return 1;
             Trace::Start();
             Trace::Emit(InternName("child"), 3, 4);
             const auto events = Trace::Stop();
             return events.size() == 1 && std::string(events[0].name) == "child" ? 0 : 2;
           }),
           0);
  CHECK_EQ(Trace::Stop().size(), 1u);
}
#endif

}  // namespace
}  // namespace penstock
