// The type that values of several number types have in common, by NumPy's rules.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/tensor.h"

namespace penstock {

// The common type of two number types; their order does not matter.
TypeCode Promoted(TypeCode a, TypeCode b);

// Plain integers of the user's code: int64, or uint64 where those are too small.

// Whether each can be a value of that type.
bool Fit(const Tensor& integers, TypeCode code);
// The integers as that type, converted as NumPy does; one that does not fit is an Error of `op`.
Tensor FromPlain(std::string_view op, const Tensor& integers, DType type);

// Values that are joined into one array. `weak` says for each whether it is a plain number of the
// user's code, which takes the type of the others (LoopTable::Weak); empty: none is. An Error names
// operation and argument.
struct Promotion {
  const char* op;
  const char* argument;
  std::vector<int64_t> weak;
  bool wrap = false;  // plain integers are cast as arrays are, as by numpy.where

  // The type of the first `count` inputs together. Strings and times only go with their own kind.
  DType TypeOf(const std::vector<Tensor>& inputs, size_t count) const;
  // Input `i` as that type; the same memory where it is of it already.
  Tensor Converted(const std::vector<Tensor>& inputs, size_t i, DType type) const;

 private:
  int64_t WeaknessOf(size_t i) const { return i < weak.size() ? weak[i] : 0; }
};

}  // namespace penstock
