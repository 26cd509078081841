// Checked access to the inputs of an operation; each error names operation and argument.
#pragma once

#include <string_view>
#include <vector>

#include "data/tensor.h"

namespace penstock {

// A batch of images as the loops see it; an image without a batch axis is a batch of one.
struct ImageBatch {
  int64_t count, height, width, channels;
};

// An input as errors name it: "resize: images must ...".
struct Operand {
  const char* op;
  const char* argument;

  // One string (bytes; text too when `text`).
  std::string_view String(const Tensor& tensor, bool text = false) const;
  // Plain bytes per item: neither strings nor objects.
  void CheckDense(const Tensor& tensor) const;
  // Integers or floats.
  void CheckReal(const Tensor& tensor) const;
  // The size of the last axis.
  void CheckChannels(const Tensor& tensor, int64_t channels) const;
  // One number that is an integer or a float.
  double Number(const Tensor& tensor) const;
  // (height, width, channels) or (batch, height, width, channels).
  ImageBatch Images(const Tensor& tensor) const;
  // Whole numbers of any integer type, shape (count,).
  std::vector<int64_t> Integers(const Tensor& tensor, int64_t count) const;
  // `count` numbers of any real type.
  std::vector<double> Numbers(const Tensor& tensor, int64_t count) const;
};

// The number of inputs an operation was called with.
void CheckInputs(const char* op, const std::vector<Tensor>& inputs, size_t least, size_t most);
inline void CheckInputs(const char* op, const std::vector<Tensor>& inputs, size_t count) {
  CheckInputs(op, inputs, count, count);
}

}  // namespace penstock
