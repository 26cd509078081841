// The memory available to this process.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

// Bytes: the minimum of the system's available memory and the headroom below the limits of the
// control group; 0 if both are unknown. Cached for a second.
int64_t AvailableMemory();

// Makes the allocator return freed memory to the system sooner: large blocks immediately, instead
// of keeping them for reuse. Affects the whole process; costs two more system calls per large
// block. Does nothing if the allocator has no such setting.
void ReturnFreedMemory();

// Returns the allocator's freed memory to the system. Slow, so threads call it only after a long
// idle time.
void TrimFreedMemory();

// Bytes left below the limits of the control group; 0 if there are none. The second one is for
// tests: it reads a copy of /proc/self/cgroup, and a directory instead of /sys/fs/cgroup.
int64_t CgroupHeadroom();
int64_t CgroupHeadroomFrom(const std::string& membership_file, const std::string& mount);

}  // namespace penstock
