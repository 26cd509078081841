// How many CPUs this process may use (by affinity, container quota and the user's setting), and
// what they can do.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

// min(affinity, ceil(CgroupQuota), PYTHON_CPU_COUNT), at least 1. Read again when older than 10 s,
// because quotas change while a process runs.
int CpuCount();

// CPUs' worth of time that the container's quota grants (1.5 = 150 %); 0 when there is none.
double CgroupQuota();

// The same from other files, for tests: a copy of /proc/self/cgroup and a directory instead of
// /sys/fs/cgroup. cgroup v2: the smallest cpu.max from the process's group up to the root; v1:
// likewise with cpu.cfs_quota_us / cpu.cfs_period_us under cpu,cpuacct or cpu.
double CgroupQuotaFrom(const std::string& membership_file, const std::string& mount);

// Nanoseconds that the calling thread has run on a processor; where the system does not say, of
// the monotonic clock.
int64_t ThreadCpuNs();
// The same of all threads of this process; where the system does not say, 0.
int64_t ProcessCpuNs();

// Whether they have an instruction for CRC-32C (SSE4.2; CRC32 of ARMv8).
bool CpuHasCrc32c();
// Whether they multiply without carries, four pairs of 64 bits at a time (VPCLMULQDQ).
bool CpuHasFolding();

}  // namespace penstock
