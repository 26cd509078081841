// Operations that only move items: what they do to numbers they do to strings.
#pragma once

#include <vector>

#include "compute/op.h"

namespace penstock {

// Output and Run are written for plain bytes. For strings, Run is given their numbers to move.
class ItemsOp : public FillOp {
 public:
  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey key) const final;

 protected:
  // How many of the inputs, from the first one on, hold what is moved.
  virtual size_t items(const std::vector<Tensor>& /*inputs*/) const { return 1; }
};

}  // namespace penstock
