// Native threads: start, cache, name, end.
#include "runtime/thread_pool.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/fork.h"
#include "runtime/memory.h"
#include "runtime/native_thread.h"
#include "runtime/platform.h"
#include "runtime/trace.h"

#if defined(PENSTOCK_POSIX)
#include <pthread.h>
#endif

namespace penstock {
namespace {

// More would only hold memory: starting a thread takes about 50 us.
constexpr size_t kMostIdle = 64;

std::atomic<ThreadPool*> current_pool{nullptr};
std::atomic<ThreadPool::PythonSpawner> python_spawner{nullptr};
constinit thread_local bool in_pool = false;

void NameThisThread(const char* name) {
  // Linux accepts at most 15 characters.
  [[maybe_unused]] char shown[16] = {};
  std::string_view(name).copy(shown, sizeof(shown) - 1);
#if defined(__APPLE__)
  pthread_setname_np(shown);
#elif defined(PENSTOCK_LINUX)
  pthread_setname_np(pthread_self(), shown);
#endif
}

// Runs a body that must not throw. Ending the process at the first bad body would hide its name.
void RunGuarded(const char* name, const std::function<void()>& body) noexcept {
  try {
    body();
    return;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "penstock: thread body '%s' threw: %s\n", name, e.what());
  } catch (...) {
    std::fprintf(stderr, "penstock: thread body '%s' threw something\n", name);
  }
#if !defined(NDEBUG)
  std::abort();
#endif
}

}  // namespace

// One native thread. All fields are under the pool's mutex.
struct ThreadPool::Worker {
  std::condition_variable changed;
  std::function<void()> body;  // empty: asleep in idle_
  const char* name = nullptr;  // until the body starts
};

ThreadPool& ThreadPool::Get() {
  static const bool registered = [] {
    // release: pairs with acquire below, like any other store; the child has one thread.
    OnForkChild([] { current_pool.store(nullptr, std::memory_order_release); });
    return true;
  }();
  (void)registered;
  ThreadPool* pool = current_pool.load(std::memory_order_acquire);  // pairs with the exchange
  if (pool == nullptr) {
    auto* fresh = new ThreadPool;
    if (current_pool.compare_exchange_strong(pool, fresh, std::memory_order_acq_rel)) pool = fresh;
    // The loser of a race leaks an empty pool, once.
  }
  return *pool;
}

bool ThreadPool::InPool() { return in_pool; }

void ThreadPool::SetPythonSpawner(PythonSpawner spawner) {
  python_spawner.store(spawner, std::memory_order_release);  // pairs with acquire in Run
}

void ThreadPool::Run(Lane lane, const char* name, std::function<void()> body) {
  if (lane == Lane::kNative) return RunNative(name, std::move(body));
  const PythonSpawner spawn = python_spawner.load(std::memory_order_acquire);
  if (spawn == nullptr) {
    throw std::system_error(std::make_error_code(std::errc::operation_not_supported),
                            "thread pool: no Python threads here");
  }
  spawn(name, std::move(body));
}

void ThreadPool::RunNative(const char* name, std::function<void()> body) {
  const std::lock_guard lock(mutex_);
  if (!idle_.empty()) {
    Worker* const worker = idle_.back();
    idle_.pop_back();
    worker->name = name;
    worker->body = std::move(body);
    worker->changed.notify_one();
    return;
  }
  idle_.reserve(kMostIdle);  // a thread that goes to sleep must not allocate
  auto worker = std::make_unique<Worker>();
  worker->name = name;
  worker->body = std::move(body);
  StartNativeThread([this, w = worker.get()] { NativeMain(w); });
  (void)worker.release();  // the thread owns it now; it starts by locking mutex_, held here
  ++native_threads_;
}

void ThreadPool::NativeMain(Worker* worker) {
  in_pool = true;
  const std::unique_ptr<Worker> owner(worker);
  std::unique_lock lock(mutex_);
  while (worker->body) {
    std::function<void()> body = std::exchange(worker->body, nullptr);
    char name[64] = {};  // a copy: its owner may be gone when it is needed
    std::string_view(worker->name).copy(name, sizeof(name) - 1);
    lock.unlock();
    NameThisThread(name);
    Trace::SetThreadName(name);
    RunGuarded(name, body);
    body = nullptr;  // its captures are destroyed before the thread is offered again
    lock.lock();
    if (idle_.size() >= kMostIdle) break;
    idle_.push_back(worker);
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(idle_timeout_);
    worker->changed.wait_until(lock, until, [&] { return worker->body != nullptr; });
    if (!worker->body) std::erase(idle_, worker);  // idle for long enough
  }
  const bool last = --native_threads_ == 0;
  lock.unlock();
  if (last) TrimFreedMemory();
}

void ThreadPool::set_idle_timeout(MonoTime nanoseconds) {
  const std::lock_guard lock(mutex_);
  idle_timeout_ = nanoseconds;
}

int ThreadPool::native_threads() const {
  const std::lock_guard lock(mutex_);
  return native_threads_;
}

}  // namespace penstock
