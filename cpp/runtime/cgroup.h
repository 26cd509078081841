// Limits of this process's control group (Linux: cgroups(7)).
#pragma once

#include <string>

namespace penstock {

constexpr const char* kOwnCgroup = "/proc/self/cgroup";
constexpr const char* kCgroupMount = "/sys/fs/cgroup";

// The first line of a file; empty if it cannot be read.
std::string FirstLineOf(const std::string& file);

// The minimum limit over the group's folders, from the process's own up to the root; infinity if
// there is no limit. `v2` reads a folder of the unified hierarchy, `v1` one of `controller`; they
// return infinity for no limit or an unreadable file.
double LeastInCgroup(const std::string& membership_file, const std::string& mount,
                     const std::string& controller, double (*v2)(const std::string& folder),
                     double (*v1)(const std::string& folder));

}  // namespace penstock
