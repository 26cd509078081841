// Giving work to threads.
#include <thread>

#include "measure.h"
#include "runtime/pump.h"
#include "runtime/thread_pool.h"

namespace penstock::bench {
namespace {

constexpr int64_t kThreads = 50;

const Theme pool([] {
  AddTimed("start and join", "Pump", kThreads, [] {
    for (int64_t i = 0; i < kThreads; ++i) Pump(Lane::kNative, "bench", [] {});
  });
  AddTimed("start and join", "std::thread", kThreads, [] {
    for (int64_t i = 0; i < kThreads; ++i) std::thread([] {}).join();
  });
});

}  // namespace
}  // namespace penstock::bench
