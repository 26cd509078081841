// Parsing weights, and drawing numbers by them.
#pragma once

#include <string_view>
#include <vector>

#include "data/tensor.h"

namespace penstock {

// Returns the numbers in `leaf`, which must be float32 or float64, finite and >= 0, and `count` of
// them (-1: any number). Otherwise throws an Error that begins with `argument`, such as "stage:
// weights".
std::vector<double> WeightsOf(std::string_view argument, const Tensor& leaf, int64_t count);

// Draws indices of the weights, each with a frequency proportional to its weight.
class Lottery {
 public:
  // Returns false if no weight is above zero.
  bool SetWeights(const std::vector<double>& weights);
  // `unit` is uniform in [0, 1).
  size_t Draw(double unit) const;

 private:
  std::vector<double> sums_;  // cumulative
};

}  // namespace penstock
