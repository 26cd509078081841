// CPU count from affinity, cgroup quotas and the environment; CPU features from the CPU.
#include "runtime/cpu.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <thread>

#include "runtime/cgroup.h"
#include "runtime/clock.h"
#include "runtime/platform.h"

#if defined(PENSTOCK_LINUX)
#include <sched.h>
#include <time.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#endif

namespace penstock {
namespace {

constexpr MonoTime kQuotaReadAgainNs = 10'000'000'000;

int AffinityCount() {
#if defined(PENSTOCK_LINUX)
  // The kernel's mask may be wider than cpu_set_t: try larger ones until it fits.
  for (int cpus = CPU_SETSIZE; cpus <= (1 << 20); cpus *= 4) {
    cpu_set_t* const set = CPU_ALLOC(cpus);
    if (set == nullptr) break;
    const size_t size = CPU_ALLOC_SIZE(cpus);
    const bool fits = sched_getaffinity(0, size, set) == 0;
    const int count = fits ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (fits) return std::max(count, 1);
  }
#endif
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

// "max 100000" or "150000 100000" -> CPUs; infinity for no limit or an unreadable file.
double QuotaV2(const std::string& folder) {
  std::istringstream line(FirstLineOf(folder + "/cpu.max"));
  double quota = 0;
  double period = 0;
  if (line >> quota >> period && quota > 0 && period > 0) return quota / period;
  return std::numeric_limits<double>::infinity();
}

double QuotaV1(const std::string& folder) {
  const double quota = std::atof(FirstLineOf(folder + "/cpu.cfs_quota_us").c_str());
  const double period = std::atof(FirstLineOf(folder + "/cpu.cfs_period_us").c_str());
  if (quota > 0 && period > 0) return quota / period;  // -1: no limit
  return std::numeric_limits<double>::infinity();
}

int CountNow() {
  int count = AffinityCount();
  const double quota = CgroupQuota();
  if (quota > 0 && quota < count) count = static_cast<int>(std::ceil(quota));
  if (const char* text = std::getenv("PYTHON_CPU_COUNT")) {
    const int asked = std::atoi(text);  // "default" and other words yield 0: ignored
    if (asked > 0) count = std::min(count, asked);
  }
  return std::max(count, 1);
}

}  // namespace

double CgroupQuotaFrom(const std::string& membership_file, const std::string& mount) {
  const double least = LeastInCgroup(membership_file, mount, "cpu", QuotaV2, QuotaV1);
  return std::isfinite(least) ? least : 0;
}

double CgroupQuota() {
#if defined(PENSTOCK_LINUX)
  return CgroupQuotaFrom(kOwnCgroup, kCgroupMount);
#else
  return 0;
#endif
}

int CpuCount() {
  // relaxed: two values that need not match; at worst two threads read the files.
  static std::atomic<int> count{0};
  static std::atomic<MonoTime> read_at{0};
  const MonoTime now = NowNs();
  int result = count.load(std::memory_order_relaxed);
  if (result == 0 || now - read_at.load(std::memory_order_relaxed) > kQuotaReadAgainNs) {
    result = CountNow();
    count.store(result, std::memory_order_relaxed);
    read_at.store(now, std::memory_order_relaxed);
  }
  return result;
}

#if defined(PENSTOCK_LINUX)
namespace {
int64_t ReadClock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}
}  // namespace

int64_t ThreadCpuNs() { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }
int64_t ProcessCpuNs() { return ReadClock(CLOCK_PROCESS_CPUTIME_ID); }
#else
int64_t ThreadCpuNs() { return NowNs(); }
int64_t ProcessCpuNs() { return 0; }
#endif

bool CpuHasFolding() {
#if defined(PENSTOCK_GNU) && defined(__x86_64__)
  return CpuHasCrc32c() && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("vpclmulqdq");
#else
  return false;
#endif
}

bool CpuHasCrc32c() {
#if defined(PENSTOCK_PORTABLE)
  return false;
#elif defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2");
#elif defined(__aarch64__) && defined(PENSTOCK_LINUX)
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#elif defined(__aarch64__) && defined(__APPLE__)
  return true;  // at least ARMv8.1, where it is mandatory
#else
  return false;
#endif
}

}  // namespace penstock
