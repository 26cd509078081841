// Plans for the tests of the concurrent engine, and ways to run them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compute/function.h"
#include "engine/dataset.h"
#include "engine/session.h"

namespace penstock::testing {

// The numbers from 0 to stop - 1.
DatasetPtr Range(int64_t stop);
DatasetPtr Map(DatasetPtr input, PlannedFunction function);
// `calls`: how many run at a time, or kAutotune.
DatasetPtr ParallelMap(DatasetPtr input, PlannedFunction function, int64_t calls);
DatasetPtr Filter(DatasetPtr input, PlannedFunction predicate);
DatasetPtr ParallelFilter(DatasetPtr input, PlannedFunction predicate, int64_t calls);
DatasetPtr Batch(DatasetPtr input, int64_t size);
DatasetPtr Unbatch(DatasetPtr input);
DatasetPtr Prefetch(DatasetPtr input, int64_t buffer);
DatasetPtr Shuffle(DatasetPtr input, int64_t buffer);
DatasetPtr Repeat(DatasetPtr input, int64_t count);
DatasetPtr Cache(DatasetPtr input);
DatasetPtr Zip(DatasetPtr one, DatasetPtr other);
// Opens the dataset that `function` gives for each element. `calls`: how many datasets run ahead;
// 0: none.
DatasetPtr Interleave(DatasetPtr input, PlannedFunction function, int64_t cycle, int64_t calls);

// The lines of a text file of several stretches, some of which lie wholly within one line. `calls`:
// how many threads read it; 0: none.
DatasetPtr Lines(int64_t calls);

// What a test function does with a number x. Each takes a time that differs from element to
// element, so that calls overtake each other.
enum class Does {
  kTriple,  // 3 x
  kRow,     // `kRowItems` numbers x: an array large enough to be written into batch memory
  kFail,    // 3 x, but an error for every seventh x
};
inline constexpr int64_t kRowItems = 300;
PlannedFunction That(Does does);
// Whether x is even.
PlannedFunction IsEven();
// Opens the dataset that `make` gives for x.
PlannedFunction Opens(DatasetPtr (*make)(int64_t x));

// The result of a run: the first item of each element (of a string, its hash) and the number of
// errors.
struct Came {
  std::vector<int64_t> numbers;
  int64_t errors = 0;
  bool whole = false;  // the run reached the end

  Came& operator+=(const Came& more);
  bool operator==(const Came&) const = default;
};
// Pulls at most `steps` elements and errors, in blocks of at most `rows`.
Came Pull(Session& session, int64_t steps, int64_t rows = 16);
// Pulls everything, in a run of its own.
Came All(const DatasetPtr& dataset, RunOptions options = {}, int64_t rows = 16);

}  // namespace penstock::testing
