// Shuffling: rows that are gathered by their indices, elements in a buffer, and std::shuffle.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "measure.h"
#include "run.h"

namespace penstock::bench {
namespace {

constexpr int64_t kNumbers = 200'000;
constexpr int64_t kBuffer = 20'000;

DatasetPtr Shuffled(bool gathered) {
  Args range;
  range.Set("start", int64_t{0});
  range.Set("stop", kNumbers);
  range.Set("step", int64_t{1});
  range.Set("output_type",
            std::make_shared<const ElementSpec>(ElementSpec::Scalar(DTypeOf<int64_t>())));
  Args shuffle;
  shuffle.Set("buffer_size", kBuffer);
  shuffle.Set("reshuffle_each_iteration", true);
  shuffle.Set("fused", gathered);
  return MakeDataset("shuffle", {MakeDataset("range", {}, range)}, shuffle);
}

void AddShuffle(const char* name, bool gathered) {
  DatasetPtr data = Shuffled(gathered);
  AddTimed("shuffle", name, kNumbers, [data] { Keep(Drain(data)); });
}

const Theme order([] {
  AddShuffle("row numbers, gathered", true);
  AddShuffle("elements in a buffer", false);
  AddTimed("shuffle", "std::shuffle of numbers in memory", kNumbers, [] {
    static std::mt19937_64 random(1);
    std::vector<int64_t> numbers(kNumbers);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::shuffle(numbers.begin(), numbers.end(), random);
    Keep(numbers[0]);
  });
});

}  // namespace
}  // namespace penstock::bench
