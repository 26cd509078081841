// MemAvailable from proc(5), and memory.max or memory.limit_in_bytes from control groups.
#include "runtime/memory.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "runtime/cgroup.h"
#include "runtime/clock.h"
#include "runtime/platform.h"

namespace penstock {
namespace {

constexpr MonoTime kMemoryReadAgainNs = 1'000'000'000;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// The value of `name` in lines of the form "name value".
double Named(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  double value = 0;
  for (std::string word; in >> word >> value;) {
    if (word == name) return value;
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

// Inactive pages of files count as used, but are reclaimed on demand.
double Headroom(const std::string& folder, const char* limit, const char* used, const char* idle) {
  const std::string most = FirstLineOf(folder + limit);
  const std::string now = FirstLineOf(folder + used);
  if (most.empty() || most == "max" || now.empty()) return kNoLimit;
  const double left = std::atof(most.c_str()) - std::atof(now.c_str());
  return std::max(left + Named(folder + "/memory.stat", idle), 1.0);
}

double HeadroomV2(const std::string& folder) {
  return Headroom(folder, "/memory.max", "/memory.current", "inactive_file");
}

// "No limit" is a number larger than any machine's memory.
double HeadroomV1(const std::string& folder) {
  return Headroom(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                  "total_inactive_file");
}

int64_t AvailableNow() {
  constexpr double kKiB = 1024;
  const double system = kKiB * Named("/proc/meminfo", "MemAvailable:");
  const int64_t group = CgroupHeadroom();
  if (system == 0) return group;
  return group == 0 ? static_cast<int64_t>(system) : std::min(group, static_cast<int64_t>(system));
}

}  // namespace

void ReturnFreedMemory() {
#if defined(__GLIBC__)
  constexpr int kLarge = 64 << 10;    // bytes; smaller blocks are soon reused
  mallopt(M_MMAP_THRESHOLD, kLarge);  // this also keeps the threshold from growing
  mallopt(M_TRIM_THRESHOLD, 16 * kLarge);
#endif
}

void TrimFreedMemory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

int64_t CgroupHeadroomFrom(const std::string& membership_file, const std::string& mount) {
  constexpr double kMost = 1LL << 60;
  const double least = LeastInCgroup(membership_file, mount, "memory", HeadroomV2, HeadroomV1);
  return least < kMost ? static_cast<int64_t>(least) : 0;
}

int64_t CgroupHeadroom() {
#if defined(PENSTOCK_LINUX)
  return CgroupHeadroomFrom(kOwnCgroup, kCgroupMount);
#else
  return 0;
#endif
}

int64_t AvailableMemory() {
  // A thread that finds a recent time must find the value read then, or a newer one, but not the
  // initial zero. So the value is written before the time, and read after it. At worst several
  // threads read the files at the same time; each of their values is valid.
  static std::atomic<int64_t> available{0};
  static std::atomic<MonoTime> read_at{std::numeric_limits<MonoTime>::min() / 2};
  const MonoTime now = NowNs();
  // acquire: pairs with the release below
  if (now - read_at.load(std::memory_order_acquire) > kMemoryReadAgainNs) {
    available.store(AvailableNow(), std::memory_order_relaxed);
    read_at.store(now, std::memory_order_release);  // pairs with the acquire above
  }
  return available.load(std::memory_order_relaxed);
}

}  // namespace penstock
