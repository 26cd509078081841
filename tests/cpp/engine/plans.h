// Plans for the tests of the concurrent engine, and ways to run them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compute/function.h"
#include "engine/dataset.h"
#include "engine/session.h"

namespace penstock::testing {

// The numbers from 0 on.
DatasetPtr Range(int64_t stop);
DatasetPtr Map(DatasetPtr input, PlannedFunction function);
// `calls`: kAutotune, or how many there are at a time.
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
// Opens what `function` does for each element; `calls`: how many datasets run ahead, 0: none does.
DatasetPtr Interleave(DatasetPtr input, PlannedFunction function, int64_t cycle, int64_t calls);

// The lines of a text file of several stretches, some of which a line covers whole. `calls`:
// threads that read it; 0: none does.
DatasetPtr Lines(int64_t calls);

// What a test function does with a number x. All take a while that differs from element to element,
// so that calls overtake each other.
enum class Does {
  kTriple,  // 3 x
  kRow,     // an array of `kRowItems` numbers x: large enough to be written into a batch's memory
  kFail,    // 3 x, and an error for every seventh x
};
inline constexpr int64_t kRowItems = 300;
PlannedFunction That(Does does);
// Whether x is even.
PlannedFunction IsEven();
// Opens the dataset that `make` gives for x.
PlannedFunction Opens(DatasetPtr (*make)(int64_t x));

// What came: the first item of each element (a hash, of a string), and how many errors.
struct Came {
  std::vector<int64_t> numbers;
  int64_t errors = 0;
  bool whole = false;  // up to the end

  Came& operator+=(const Came& more);
  bool operator==(const Came&) const = default;
};
// At most `steps` elements and errors, pulled in blocks of at most `rows`.
Came Pull(Session& session, int64_t steps, int64_t rows = 16);
// All of them, by a run of its own.
Came All(const DatasetPtr& dataset, RunOptions options = {}, int64_t rows = 16);

}  // namespace penstock::testing
