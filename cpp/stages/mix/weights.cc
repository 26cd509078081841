// Checks weights, and draws by their cumulative sums.
#include "stages/mix/weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/error.h"

namespace penstock {

std::vector<double> WeightsOf(std::string_view argument, const Tensor& leaf, int64_t count) {
  bool wide = leaf.dtype().code == TypeCode::kFloat64;
  if (!wide && leaf.dtype().code != TypeCode::kFloat32) {
    throw Error(ErrorKind::kType, "{} must be float32 or float64, got {}", argument,
                leaf.dtype().name());
  }
  if (leaf.shape().rank() != 1 || (count >= 0 && leaf.shape()[0] != count)) {
    throw Error(ErrorKind::kInvalidArgument, "{} must be {} numbers, got shape {}", argument,
                count >= 0 ? std::to_string(count) : "a row of", leaf.shape().ToString());
  }
  std::vector<double> weights(static_cast<size_t>(leaf.shape()[0]));
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = wide ? reinterpret_cast<const double*>(leaf.data())[i]
                      : static_cast<double>(reinterpret_cast<const float*>(leaf.data())[i]);
    if (!(weights[i] >= 0) || std::isinf(weights[i])) {
      throw Error(ErrorKind::kInvalidArgument, "{} must be finite and >= 0, got {} at {}", argument,
                  weights[i], i);
    }
  }
  return weights;
}

bool Lottery::SetWeights(const std::vector<double>& weights) {
  sums_.resize(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums_.begin());
  return !sums_.empty() && sums_.back() > 0;
}

size_t Lottery::Draw(double unit) const {
  auto found = std::upper_bound(sums_.begin(), sums_.end(), unit * sums_.back());
  // Rounding may reach the very end: then choose the last index with a positive weight.
  if (found == sums_.end()) found = std::lower_bound(sums_.begin(), sums_.end(), sums_.back());
  return static_cast<size_t>(found - sums_.begin());
}

}  // namespace penstock
