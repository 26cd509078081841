// What the control group of this process (Linux: cgroups(7)) limits.
#pragma once

#include <string>

namespace penstock {

constexpr const char* kOwnCgroup = "/proc/self/cgroup";
constexpr const char* kCgroupMount = "/sys/fs/cgroup";

// The first line of a file; empty when it cannot be read.
std::string FirstLineOf(const std::string& file);

// The least limit of the folders of the group, from the process's own up to the root; infinity when
// none has a limit. `v2` reads a folder of the unified hierarchy, `v1` one of `controller`;
// infinity: no limit, or an unreadable file.
double LeastInCgroup(const std::string& membership_file, const std::string& mount,
                     const std::string& controller, double (*v2)(const std::string& folder),
                     double (*v1)(const std::string& folder));

}  // namespace penstock
