// Environment variables that libraries read when they are loaded.
#include "workers/library_threads.h"

#include <cstdlib>

namespace penstock {
namespace {

constexpr std::string_view kOpenMp = "OMP_NUM_THREADS";  // PyTorch and Arrow use it too
// Each falls back to OMP_NUM_THREADS.
constexpr std::string_view kFollowOpenMp[] = {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                                              "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS"};
constexpr std::string_view kOthers[] = {"VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS",
                                        "OPENCV_FOR_THREADS_NUM"};

bool IsSet(std::string_view name) { return std::getenv(name.data()) != nullptr; }

}  // namespace

std::vector<std::pair<std::string_view, std::string_view>> LibraryThreadLimits() {
  std::vector<std::pair<std::string_view, std::string_view>> limits;
  auto limit = [&limits](std::string_view name) {
    if (!IsSet(name)) limits.emplace_back(name, "1");
  };
  if (!IsSet(kOpenMp)) {
    for (std::string_view name : kFollowOpenMp) limit(name);
    limit(kOpenMp);
  }
  for (std::string_view name : kOthers) limit(name);
  return limits;
}

}  // namespace penstock
