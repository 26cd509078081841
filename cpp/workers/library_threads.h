// One thread for each library in a worker process: there are as many workers as CPUs already.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

// The environment variables, with their values, that limit the thread pools of libraries (OpenMP,
// OpenBLAS, MKL, OpenCV, ...) to one thread. Those that the environment sets are skipped: the
// user's setting wins. If it sets OMP_NUM_THREADS, libraries that follow that are skipped too.
std::vector<std::pair<std::string_view, std::string_view>> LibraryThreadLimits();

}  // namespace penstock
