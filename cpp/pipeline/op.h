// A native operation: tensors in, one tensor out; declares its output, then fills it.
#pragma once

#include <memory>
#include <vector>

#include "element/element.h"
#include "pipeline/args.h"
#include "pipeline/random.h"
#include "pipeline/spec.h"

namespace penstock {

class Op {
 public:
  virtual ~Op() = default;
  // Checks ranks, dtypes and sizes; throws an Error that names the argument. May read the data
  // (the size of a JPEG stands in its header).
  virtual LeafSpec Output(const std::vector<Tensor>& inputs) const = 0;
  // Fills `out`, which has the declared dtype and shape and may be a row of a batch. An op whose
  // declared dtype is bytes sets `out` itself. No lock of a foreign runtime is held.
  virtual void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const = 0;
  // Draws random numbers: it is given a fresh key at each call.
  virtual bool random() const { return false; }
};

using OpMaker = std::unique_ptr<const Op> (*)(const Args& args);

}  // namespace penstock
