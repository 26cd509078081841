// AUTOTUNE's controller beside the best fixed widths of a sweep, on forty simulated pipelines; or
// on so many that are drawn, which are others for each seed.
//
//   tuning [SEEDS [DRAWN [FIRST_SEED]]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "simulation.h"

int main(int argc, char** argv) {
  using namespace penstock::testing;
  const int seeds = argc > 1 ? std::atoi(argv[1]) : 1;
  const int drawn = argc > 2 ? std::atoi(argv[2]) : 0;
  const int first = argc > 3 ? std::atoi(argv[3]) : 1;
  int runs = 0, near = 0, calm = 0, within = 0, adapted = 0;
  double worst = 1;
  for (int each = first; each < first + seeds; ++each) {
    const auto seed = static_cast<uint64_t>(each);
    for (const SimulatedPipeline& pipeline :
         drawn > 0 ? DrawnPipelines(drawn, seed) : SimulatedPipelines()) {
      const Comparison report = Compare(pipeline, seed);
      std::printf("%s\n", report.text.c_str());
      ++runs;
      near += report.share >= 0.95;
      calm += report.moves <= 1;
      within += report.within_memory;
      adapted += report.adapted <= 3;
      worst = std::min(worst, report.share);
    }
  }
  std::printf(
      "of %d: %d reach 95 %% (the least %.1f %%), %d move at most once in 30 s, %d are near after "
      "3 s, %d stay within memory\n",
      runs, near, worst * 100, calm, adapted, within);
}
