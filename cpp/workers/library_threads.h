// Limits libraries to one thread in worker processes, as there are many workers already.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

// The environment variables, with their values, that limit the thread pools of libraries (OpenMP,
// OpenBLAS, MKL, OpenCV, ...) to one thread. Variables that are already set in the environment are
// skipped, so the user's setting wins. If OMP_NUM_THREADS is set, variables that default to it are
// skipped, too.
std::vector<std::pair<std::string_view, std::string_view>> LibraryThreadLimits();

}  // namespace penstock
