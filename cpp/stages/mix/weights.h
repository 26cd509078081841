// Weights: reading them, and drawing numbers by them.
#pragma once

#include <string_view>
#include <vector>

#include "data/tensor.h"

namespace penstock {

// The numbers in `leaf`: float32 or float64, `count` of them (any number: -1), finite and >= 0.
// Else throws an Error that begins with `argument`: "stage: weights".
std::vector<double> WeightsOf(std::string_view argument, const Tensor& leaf, int64_t count);

// Draws numbers below the count of the weights, each as often as its weight says.
class Lottery {
 public:
  // False when none is above zero.
  bool SetWeights(const std::vector<double>& weights);
  // `unit` is uniform in [0, 1).
  size_t Draw(double unit) const;

 private:
  std::vector<double> sums_;  // of the weights up to each
};

}  // namespace penstock
