// Operations that only move items, and therefore treat strings like numbers.
#pragma once

#include <vector>

#include "compute/op.h"

namespace penstock {

// Output and Run are written for plain bytes. For strings, Run receives their indices to move.
class ItemsOp : public FillOp {
 public:
  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey key) const final;

 protected:
  // How many of the inputs, from the first one on, contain the items to move.
  virtual size_t items(const std::vector<Tensor>& /*inputs*/) const { return 1; }
};

}  // namespace penstock
