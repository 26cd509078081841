// The number of CPUs this process may use (affinity, container quota, user setting), and their
// features.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

// min(affinity, ceil(CgroupQuota), PYTHON_CPU_COUNT), at least 1. Cached for 10 s, because quotas
// change while a process runs.
int CpuCount();

// The container's CPU quota in CPUs (1.5 = 150 %); 0 if there is none.
double CgroupQuota();

// The same from other files, for tests: a copy of /proc/self/cgroup, and a directory instead of
// /sys/fs/cgroup. cgroup v2: the minimum of cpu.max from the process's group up to the root; v1:
// likewise for cpu.cfs_quota_us / cpu.cfs_period_us under cpu,cpuacct or cpu.
double CgroupQuotaFrom(const std::string& membership_file, const std::string& mount);

// The CPU time of the calling thread in nanoseconds; the monotonic clock if the system does not
// report it.
int64_t ThreadCpuNs();
// The same for all threads of this process; 0 if the system does not report it.
int64_t ProcessCpuNs();

// Whether the CPU has a CRC-32C instruction (SSE4.2; CRC32 of ARMv8).
bool CpuHasCrc32c();
// Whether the CPU has carry-less multiplication of four pairs of 64 bits (VPCLMULQDQ).
bool CpuHasFolding();

}  // namespace penstock
