// Handing values from thread to thread: one producer, several, and what a wake-up costs.
#include "queues.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "measure.h"

namespace penstock::bench {
namespace {

constexpr size_t kCapacity = 64;
constexpr int64_t kValues = 20'000;
constexpr int64_t kTrips = 500;

// `producers` threads push, this one pops; one call moves kValues values.
template <typename Queue>
void AddHandOver(const char* theme, const char* name, int64_t producers) {
  AddTimed(theme, name, kValues, [producers] {
    Queue queue(kCapacity);
    std::vector<std::thread> threads;
    for (int64_t p = 0; p < producers; ++p) {
      threads.emplace_back([&queue, producers] {
        for (int64_t i = 0; i < kValues / producers; ++i) queue.Push(i);
      });
    }
    int64_t sum = 0;
    for (int64_t i = 0; i < kValues / producers * producers; ++i) sum += queue.Pop();
    for (std::thread& thread : threads) thread.join();
    Keep(sum);
  });
}

// Without another thread: what the operations cost by themselves.
template <typename Queue>
void AddAlone(const char* theme, const char* name) {
  AddTimed(theme, name, kValues, [] {
    Queue queue(kCapacity);
    int64_t sum = 0;
    for (int64_t i = 0; i < kValues; ++i) {
      queue.Push(i);
      sum += queue.Pop();
    }
    Keep(sum);
  });
}

// There and back: each side sleeps until the other one has something for it.
template <typename Queue>
void AddTrips(const char* theme, const char* name) {
  AddTimed(theme, name, kTrips, [] {
    Queue there(kCapacity), back(kCapacity);
    std::thread echo([&] {
      for (int64_t i = 0; i < kTrips; ++i) back.Push(there.Pop());
    });
    for (int64_t i = 0; i < kTrips; ++i) {
      there.Push(i);
      Keep(back.Pop());
    }
    echo.join();
  });
}

void AddNotify() {
  AddTimed("notify without a waiter", "EventCount", kValues, [] {
    static EventCount event;
    for (int64_t i = 0; i < kValues; ++i) event.NotifyOne();
  });
  AddTimed("notify without a waiter", "mutex + condition variable", kValues, [] {
    static std::mutex mutex;
    static std::condition_variable changed;
    for (int64_t i = 0; i < kValues; ++i) {
      {
        std::lock_guard lock(mutex);
      }
      changed.notify_one();
    }
  });
}

const Theme queues([] {
  AddAlone<EngineQueue>("push and pop, one thread", "SpscRing + EventCount");
  AddAlone<LockedQueue>("push and pop, one thread", "mutex + condition variable");
  AddHandOver<EngineQueue>("one producer", "SpscRing + EventCount", 1);
  AddHandOver<LockedQueue>("one producer", "mutex + condition variable", 1);
  AddHandOver<EngineSlots>("two producers", "SlotRing + EventCount", 2);
  AddHandOver<LockedQueue>("two producers", "mutex + condition variable", 2);
  AddTrips<EngineQueue>("there and back", "SpscRing + EventCount");
  AddTrips<LockedQueue>("there and back", "mutex + condition variable");
#if defined(BENCH_HAS_READERWRITERQUEUE)
  constexpr const char* kCircular = "moodycamel BlockingReaderWriterCircularBuffer";
  AddAlone<CircularBuffer>("push and pop, one thread", kCircular);
  AddHandOver<CircularBuffer>("one producer", kCircular, 1);
  AddTrips<CircularBuffer>("there and back", kCircular);
#else
  LeftOut().push_back("moodycamel's ReaderWriterQueue: install libreaderwriterqueue-dev");
#endif
#if defined(BENCH_HAS_CONCURRENTQUEUE)
  AddHandOver<ConcurrentQueue>("two producers", "moodycamel BlockingConcurrentQueue", 2);
#else
  LeftOut().push_back("moodycamel's ConcurrentQueue: install libconcurrentqueue-dev");
#endif
  AddNotify();
});

}  // namespace
}  // namespace penstock::bench
