// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

// Bytes: the least of what the system has available and of what is left below the limits of the
// control group; 0 when neither is known. Read again when older than a second.
int64_t AvailableMemory();

// From now on memory that is freed goes back to the system soon: large pieces at once, where the
// allocator would keep them for the next ones. For all of the process; each large piece costs two
// system calls more. Does nothing where the allocator has no such setting.
void ReturnFreedMemory();

// Returns the allocator's freed memory to the system. It is slow, so threads call it only after a
// long idle time.
void TrimFreedMemory();

// Bytes left below the limits of the control group; 0 when there are none. The second one is for
// tests: it reads a copy of /proc/self/cgroup and a directory instead of /sys/fs/cgroup.
int64_t CgroupHeadroom();
int64_t CgroupHeadroomFrom(const std::string& membership_file, const std::string& mount);

}  // namespace penstock
