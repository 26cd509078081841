// Giving work to threads: tasks of the pool, and pumps.
#include <atomic>
#include <thread>
#include <vector>

#include "measure.h"
#include "runtime/pump.h"
#include "runtime/thread_pool.h"

namespace penstock::bench {
namespace {

constexpr int64_t kTasks = 1000;
constexpr int64_t kThreads = 50;

const Theme pool([] {
  AddTimed("a task", "ThreadPool::Submit", kTasks, [] {
    std::atomic<int64_t> left{kTasks};
    for (int64_t i = 0; i < kTasks; ++i) {
      // acq_rel: pairs with the load below.
      ThreadPool::Get().Submit([&] { left.fetch_sub(1, std::memory_order_acq_rel); });
    }
    while (left.load(std::memory_order_acquire) > 0) std::this_thread::yield();
  });
  AddTimed("a task", "a std::thread of its own", kThreads, [] {
    for (int64_t i = 0; i < kThreads; ++i) std::thread([] {}).join();
  });
  AddTimed("start and join", "Pump", kThreads, [] {
    for (int64_t i = 0; i < kThreads; ++i) Pump(Lane::kNative, "bench", [] {});
  });
  AddTimed("start and join", "std::thread", kThreads, [] {
    for (int64_t i = 0; i < kThreads; ++i) std::thread([] {}).join();
  });
});

}  // namespace
}  // namespace penstock::bench
