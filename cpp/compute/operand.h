// Checked access to the inputs of an operation. Each error names operation and argument.
#pragma once

#include <string_view>
#include <vector>

#include "data/tensor.h"

namespace penstock {

// A batch of images for the loops; an image without a batch axis is a batch of one.
struct ImageBatch {
  int64_t count, height, width, channels;
};

// An input with its name for errors: "resize: images must ...".
struct Operand {
  const char* op;
  const char* argument;

  // One string (bytes; with `text` also text).
  std::string_view String(const Tensor& tensor, bool text = false) const;
  // Requires plain bytes per item: neither strings nor objects.
  void CheckDense(const Tensor& tensor) const;
  // Requires integers or floats.
  void CheckReal(const Tensor& tensor) const;
  // Requires this size of the last axis.
  void CheckChannels(const Tensor& tensor, int64_t channels) const;
  // A single integer or float.
  double Number(const Tensor& tensor) const;
  // (height, width, channels) or (batch, height, width, channels).
  ImageBatch Images(const Tensor& tensor) const;
  // Whole numbers of any integer type, shape (count,).
  std::vector<int64_t> Integers(const Tensor& tensor, int64_t count) const;
  // `count` numbers of any real type.
  std::vector<double> Numbers(const Tensor& tensor, int64_t count) const;
};

// Checks the number of inputs of a call.
void CheckInputs(const char* op, const std::vector<Tensor>& inputs, size_t least, size_t most);
inline void CheckInputs(const char* op, const std::vector<Tensor>& inputs, size_t count) {
  CheckInputs(op, inputs, count, count);
}

}  // namespace penstock
