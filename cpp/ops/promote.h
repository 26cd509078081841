// The type that values of several number types have in common, by NumPy's rules.
#pragma once

#include <cstdint>
#include <vector>

#include "element/tensor.h"

namespace penstock {

// Of two number types; their order does not matter.
TypeCode Promoted(TypeCode a, TypeCode b);

// Whether a plain integer can be a value of that type.
bool Fits(int64_t value, TypeCode code);

// Values that become parts of one array. `weak` says for each whether it is a plain number of the
// user's code, which takes the type of the others (LoopTable::Weak); empty: none is. An Error names
// operation and argument.
struct Promotion {
  const char* op;
  const char* argument;
  std::vector<int64_t> weak;

  // The type of the first `count` inputs together. Strings and times only go with their own kind.
  DType TypeOf(const std::vector<Tensor>& inputs, size_t count) const;
  // Input `i` as that type; the same memory where it is of it already.
  Tensor Converted(const std::vector<Tensor>& inputs, size_t i, DType type) const;

 private:
  int64_t WeaknessOf(size_t i) const { return i < weak.size() ? weak[i] : 0; }
};

}  // namespace penstock
