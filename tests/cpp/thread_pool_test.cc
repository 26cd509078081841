// ThreadPool, CPU count and fork generation.
#include "runtime/thread_pool.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "check.h"
#include "fork_child.h"
#include "runtime/cpu.h"
#include "runtime/fork.h"
#include "runtime/memory.h"
#include "runtime/pump.h"
#include "runtime/wait.h"

namespace penstock {
namespace {

// Counts down; the last arrival wakes the waiter.
class Latch final {
 public:
  explicit Latch(int n) : left_(n) {}
  void Arrive() {
    left_.fetch_sub(1, std::memory_order_acq_rel);
    changed_.NotifyAll();
  }
  void Wait() {
    WaitUninterrupted(changed_, [this] { return left_.load(std::memory_order_acquire) <= 0; });
  }

 private:
  std::atomic<int> left_;
  EventCount changed_;
};

TEST(ThreadPool_run_reuses_a_thread) {
  std::set<std::thread::id> ids;
  for (int i = 0; i < 50; ++i) {
    Pump(Lane::kNative, "test", [&] { ids.insert(std::this_thread::get_id()); }).Join();
    std::this_thread::yield();
  }
  CHECK(ids.size() < 50);
}

TEST(ThreadPool_run_grows_without_bound) {
  constexpr int kBodies = 100;
  auto all_here = std::make_shared<Latch>(kBodies);
  auto all_gone = std::make_shared<Latch>(kBodies);
  for (int i = 0; i < kBodies; ++i) {
    ThreadPool::Get().Run(Lane::kNative, "test", [=] {
      all_here->Arrive();
      all_here->Wait();  // needs all of them at once
      all_gone->Arrive();
    });
  }
  all_gone->Wait();
  // The pool does not keep all of them.
  while (ThreadPool::Get().native_threads() > 70) std::this_thread::yield();
}

TEST(ThreadPool_bodies_are_in_the_pool_and_others_are_not) {
  bool in_pool = false;
  Pump(Lane::kNative, "test", [&] { in_pool = ThreadPool::InPool(); }).Join();
  CHECK(in_pool);
  CHECK(!ThreadPool::InPool());
}

TEST(ThreadPool_one_body_at_a_time_wakes_a_sleeping_thread) {
  for (int i = 0; i < 5'000; ++i) {
    auto done = std::make_shared<Latch>(1);
    ThreadPool::Get().Run(Lane::kNative, "test", [done] { done->Arrive(); });
    done->Wait();
  }
  CHECK(true);
}

TEST(ThreadPool_threads_have_a_name_and_block_asynchronous_signals) {
  sigset_t mask;
  [[maybe_unused]] char name[32] = "";
  Pump(Lane::kNative, "a-rather-long-stage-name", [&] {
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
#if defined(PENSTOCK_LINUX)
    pthread_getname_np(pthread_self(), name, sizeof name);
#endif
  }).Join();
  for (int s :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGCHLD, SIGUSR1, SIGUSR2, SIGWINCH, SIGPIPE}) {
    CHECK(sigismember(&mask, s));
  }
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF}) CHECK(!sigismember(&mask, s));
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  CHECK(!sigismember(&mask, SIGINT));  // this thread's own mask is unchanged
#if defined(PENSTOCK_LINUX)
  CHECK_EQ(std::string(name), "a-rather-long-s");
#endif
}

TEST(ThreadPool_idle_threads_end) {
  ThreadPool& pool = ThreadPool::Get();
  // Threads of earlier tests keep their timeout; new ones take the new one.
  pool.set_idle_timeout(1'000'000);
  constexpr int kBodies = 150;
  auto all_here = std::make_shared<Latch>(kBodies);
  for (int i = 0; i < kBodies; ++i) {
    pool.Run(Lane::kNative, "test", [=] {
      all_here->Arrive();
      all_here->Wait();
    });
  }
  all_here->Wait();
  while (pool.native_threads() > 20) std::this_thread::yield();  // a hang is caught by the watchdog
  pool.set_idle_timeout(500'000'000);
  bool ran = false;
  Pump(Lane::kNative, "test", [&] { ran = true; }).Join();
  CHECK(ran);
}

// Threads end at the very moment at which they are given work.
TEST(ThreadPool_ending_threads_lose_no_work) {
  ThreadPool& pool = ThreadPool::Get();
  pool.set_idle_timeout(1'000);
  for (int i = 0; i < 1'000; ++i) {
    auto done = std::make_shared<Latch>(2);
    for (int body = 0; body < 2; ++body) {
      pool.Run(Lane::kNative, "test", [done] { done->Arrive(); });
    }
    done->Wait();
    for (int spin = 0; spin < i % 50; ++spin) std::this_thread::yield();
  }
  pool.set_idle_timeout(500'000'000);
  CHECK(true);
}

// A folder with what the kernel says about control groups: the groups of a process and the mounts.
class ControlGroups final {
 public:
  ControlGroups() { CHECK(mkdtemp(root_.data()) != nullptr); }
  ~ControlGroups() { std::filesystem::remove_all(root_); }
  ControlGroups(const ControlGroups&) = delete;
  ControlGroups& operator=(const ControlGroups&) = delete;

  std::string membership() const { return root_ + "/membership"; }
  std::string mount() const { return root_ + "/mount"; }
  void Write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + file).parent_path());
    std::ofstream(root_ + file) << text << "\n";
  }

 private:
  std::string root_ = std::filesystem::temp_directory_path() / "penstock_cgroup_XXXXXX";
};

TEST(CpuCount_is_positive_and_not_above_the_quota) {
  CHECK(CpuCount() >= 1);
  const double quota = CgroupQuota();
  if (quota > 0) CHECK(CpuCount() < quota + 1);
}

TEST(CgroupQuota_takes_the_smallest_on_the_way_up) {
  const ControlGroups groups;
  const auto quota = [&] { return CgroupQuotaFrom(groups.membership(), groups.mount()); };
  CHECK_EQ(quota(), 0.0);
  groups.Write("/membership", "0::/a/b/c");
  CHECK_EQ(quota(), 0.0);
  groups.Write("/mount/a/b/c/cpu.max", "max 100000");
  groups.Write("/mount/a/b/cpu.max", "150000 100000");
  groups.Write("/mount/a/cpu.max", "400000 100000");
  CHECK_EQ(quota(), 1.5);
  groups.Write("/membership", "0::/a");
  CHECK_EQ(quota(), 4.0);
  groups.Write("/membership", "12:memory:/x\n3:cpu,cpuacct:/y\n0::/");
  groups.Write("/mount/cpu,cpuacct/y/cpu.cfs_quota_us", "50000");
  groups.Write("/mount/cpu,cpuacct/y/cpu.cfs_period_us", "100000");
  CHECK_EQ(quota(), 0.5);
  groups.Write("/mount/cpu,cpuacct/y/cpu.cfs_quota_us", "-1");
  CHECK_EQ(quota(), 0.0);
}

// No thread sees the time of another thread's reading without its value.
TEST(AvailableMemory_is_known_to_all_threads_that_ask_first) {
#if defined(__linux__)
  std::atomic<int> known{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { known += AvailableMemory() > 0; });
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(known.load(), 8);
#endif
}

TEST(AvailableMemory_is_within_the_groups_limit) {
  const int64_t available = AvailableMemory();
#if defined(__linux__)
  CHECK(available > 0);
#endif
  const int64_t group = CgroupHeadroom();
  if (group > 0) CHECK(available < 2 * group);  // the two readings may be a second apart
}

TEST(CgroupHeadroom_takes_the_smallest_on_the_way_up) {
  const ControlGroups groups;
  const auto headroom = [&] { return CgroupHeadroomFrom(groups.membership(), groups.mount()); };
  CHECK_EQ(headroom(), 0);
  groups.Write("/membership", "0::/a/b");
  groups.Write("/mount/a/b/memory.max", "max");
  groups.Write("/mount/a/b/memory.current", "900");
  CHECK_EQ(headroom(), 0);
  groups.Write("/mount/a/memory.max", "5000");
  groups.Write("/mount/a/memory.current", "4000");
  CHECK_EQ(headroom(), 1000);
  groups.Write("/mount/a/memory.stat", "anon 100\ninactive_file 1500\nactive_file 7");
  CHECK_EQ(headroom(), 2500);
  groups.Write("/mount/a/memory.current", "9000");
  CHECK_EQ(headroom(), 1);  // over the limit: nothing is left, which must not read as "no limit"
  groups.Write("/membership", "7:memory:/y");
  groups.Write("/mount/memory/y/memory.limit_in_bytes", "3000");
  groups.Write("/mount/memory/y/memory.usage_in_bytes", "2900");
  groups.Write("/mount/memory/memory.limit_in_bytes", "9223372036854771712");
  groups.Write("/mount/memory/memory.usage_in_bytes", "100000");
  CHECK_EQ(headroom(), 100);
}

#if defined(PENSTOCK_TEST_FORK)
TEST(ThreadPool_fork_child_has_a_pool_of_its_own) {
  const uint64_t generation = ForkGeneration();
  ThreadPool* const parent = &ThreadPool::Get();
  // Again and again, another thread holds the pool's mutex, and a mutex that is held across forks,
  // at the moment of the fork. It allocates nothing, because the allocator of ASan (GCC 12) does
  // not hold its own locks across forks.
  std::atomic<bool> begun{false}, stop{false};
  static std::mutex held;
  HoldAcrossFork(held);
  std::thread noise([&] {
    begun.store(true);
    while (!stop.load(std::memory_order_relaxed)) {
      static_cast<void>(ThreadPool::Get().native_threads());
      const std::lock_guard lock(held);
      std::this_thread::yield();
    }
  });
  while (!begun.load()) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    CHECK_EQ(InForkChild([&] {
               if (ForkGeneration() != generation + 1) return 1;
               if (&ThreadPool::Get() == parent) return 2;
               const std::lock_guard lock(held);
               auto done = std::make_shared<Latch>(1);
               ThreadPool::Get().Run(Lane::kNative, "child", [done] { done->Arrive(); });
               done->Wait();
               return 0;
             }),
             0);
  }
  stop.store(true, std::memory_order_relaxed);
  noise.join();
  CHECK_EQ(ForkGeneration(), generation);
}

#if !defined(__SANITIZE_ADDRESS__) && defined(__linux__)
TEST(ThreadPool_without_threads_run_throws) {
  const int status = InForkChild([] {
    const rlimit none{64 << 20, 64 << 20};  // no room for another stack of 8 MB
    setrlimit(RLIMIT_AS, &none);
    bool threw = false;
    try {
      for (int i = 0; i < 1000; ++i) {
        ThreadPool::Get().Run(Lane::kNative, "test", [] { pause(); });
      }
    } catch (const std::system_error&) {
      threw = true;
    }
    return threw ? 0 : 1;
  });
  CHECK_EQ(status, 0);
}
#endif
#endif

}  // namespace
}  // namespace penstock
