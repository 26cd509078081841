// Moves strings by their indices.
#include "compute/array/items_op.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "data/error.h"

namespace penstock {

std::vector<Tensor> ItemsOp::Call(const std::vector<Tensor>& inputs, RandomKey key) const {
  LeafSpec spec = Output(inputs);
  if (!spec.dtype.is_reference()) {
    std::vector<Tensor> outputs{Tensor::Make(spec.dtype, spec.shape)};
    Run(inputs, outputs[0], key);
    return outputs;
  }
  std::vector<Tensor> numbered = inputs;
  std::vector<int64_t> firsts;  // the index of the first item of each input
  int64_t next = 0;
  for (size_t i = 0; i < items(inputs); ++i) {
    if (inputs[i].dtype().code == TypeCode::kObject && inputs[i].elements() > 0) {
      throw Error(ErrorKind::kType,
                  "arrays: numbers or strings were expected, got opaque objects; use NumPy in a "
                  "plain function for them");
    }
    numbered[i] = Tensor::Make(DType::Of(TypeCode::kInt64), inputs[i].shape());
    auto* numbers = reinterpret_cast<int64_t*>(numbered[i].mutable_data());
    std::iota(numbers, numbers + inputs[i].elements(), next);
    firsts.push_back(next);
    next += inputs[i].elements();
  }
  Tensor moved = Tensor::Make(DType::Of(TypeCode::kInt64), spec.shape);
  Run(numbered, moved, key);
  auto* numbers = reinterpret_cast<const int64_t*>(moved.data());
  std::vector<std::string_view> strings;
  strings.reserve(static_cast<size_t>(moved.elements()));
  for (int64_t i = 0; i < moved.elements(); ++i) {
    auto input = std::upper_bound(firsts.begin(), firsts.end(), numbers[i]) - firsts.begin() - 1;
    auto place = static_cast<size_t>(input);
    strings.push_back(inputs[place].string(numbers[i] - firsts[place]));
  }
  return {Tensor::Strings(spec.dtype.code, spec.shape, strings)};
}

}  // namespace penstock
