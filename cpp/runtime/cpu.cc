// CPU count from affinity, cgroup quotas and the environment; instructions by asking the CPU.
#include "runtime/cpu.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "runtime/clock.h"
#include "runtime/platform.h"

#if defined(PENSTOCK_LINUX)
#include <sched.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#elif defined(_WIN32) && defined(_M_ARM64)
#include <windows.h>
#endif
#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

namespace penstock {
namespace {

constexpr MonoTime kReadAgainNs = 10'000'000'000;

int AffinityCount() {
#if defined(PENSTOCK_LINUX)
  // The kernel's mask may be wider than cpu_set_t: a larger one is tried until it fits.
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

std::string FirstLine(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// "max 100000" or "150000 100000" -> CPUs; infinity for no limit or an unreadable file.
double QuotaV2(const std::string& folder) {
  std::istringstream line(FirstLine(folder + "/cpu.max"));
  double quota = 0;
  double period = 0;
  if (line >> quota >> period && quota > 0 && period > 0) return quota / period;
  return std::numeric_limits<double>::infinity();
}

double QuotaV1(const std::string& folder) {
  const double quota = std::atof(FirstLine(folder + "/cpu.cfs_quota_us").c_str());
  const double period = std::atof(FirstLine(folder + "/cpu.cfs_period_us").c_str());
  if (quota > 0 && period > 0) return quota / period;  // -1: no limit
  return std::numeric_limits<double>::infinity();
}

// The smallest quota from mount + path up to mount. Inside a container the path of the host may not
// exist under the mount; then the missing folders say nothing and the mount itself decides.
double Walk(const std::string& mount, std::string path, double (*quota)(const std::string&)) {
  double least = quota(mount);
  while (path.size() > 1) {
    least = std::min(least, quota(mount + path));
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
  return least;
}

bool HasController(const std::string& list, const std::string& name) {
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');) {
    if (item == name) return true;
  }
  return false;
}

int CountNow() {
  int count = AffinityCount();
  const double quota = CgroupQuota();
  if (quota > 0 && quota < count) count = static_cast<int>(std::ceil(quota));
  if (const char* text = std::getenv("PYTHON_CPU_COUNT")) {
    const int asked = std::atoi(text);  // "default" and other words give 0: ignored
    if (asked > 0) count = std::min(count, asked);
  }
  return std::max(count, 1);
}

}  // namespace

double CgroupQuotaFrom(const std::string& membership_file, const std::string& mount) {
  double least = std::numeric_limits<double>::infinity();
  std::ifstream in(membership_file);
  for (std::string line; std::getline(in, line);) {  // "id:controllers:path"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, Walk(mount, path, QuotaV2));
    } else if (HasController(controllers, "cpu")) {
      least = std::min(least, Walk(mount + "/" + controllers, path, QuotaV1));
      least = std::min(least, Walk(mount + "/cpu", path, QuotaV1));
    }
  }
  return std::isfinite(least) ? least : 0;
}

double CgroupQuota() {
#if defined(PENSTOCK_LINUX)
  return CgroupQuotaFrom("/proc/self/cgroup", "/sys/fs/cgroup");
#else
  return 0;
#endif
}

int CpuCount() {
  // relaxed: two numbers that need not agree; at worst two threads read the files.
  static std::atomic<int> count{0};
  static std::atomic<MonoTime> read_at{0};
  const MonoTime now = NowNs();
  int result = count.load(std::memory_order_relaxed);
  if (result == 0 || now - read_at.load(std::memory_order_relaxed) > kReadAgainNs) {
    result = CountNow();
    count.store(result, std::memory_order_relaxed);
    read_at.store(now, std::memory_order_relaxed);
  }
  return result;
}

bool CpuHasCrc32c() {
#if defined(PENSTOCK_PORTABLE)
  return false;
#elif defined(_MSC_VER) && defined(_M_X64)
  int registers[4];
  __cpuid(registers, 1);
  return (registers[2] >> 20 & 1) != 0;
#elif defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2");
#elif defined(__aarch64__) && defined(PENSTOCK_LINUX)
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#elif defined(__aarch64__) && defined(__APPLE__)
  return true;  // ARMv8.1 at least, where it is no option
#elif defined(_WIN32) && defined(_M_ARM64)
  return IsProcessorFeaturePresent(PF_ARM_V8_CRC32_INSTRUCTIONS_AVAILABLE) != 0;
#else
  return false;
#endif
}

}  // namespace penstock
