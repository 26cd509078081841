// The common type of values of several number types, by NumPy's rules.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/tensor.h"

namespace penstock {

// The common type of two number types; their order does not matter.
TypeCode Promoted(TypeCode a, TypeCode b);

// Plain integers of the user's code: int64, or uint64 if those are too small.

// Whether each can be represented in that type.
bool Fit(const Tensor& integers, TypeCode code);
// Converts the integers to that type as NumPy does; throws an Error of `op` for one that does not
// fit.
Tensor FromPlain(std::string_view op, const Tensor& integers, DType type);

// Promotion of values that are joined into one array. `weak` marks plain numbers of the user's
// code, which take the type of the others (LoopTable::Weak); empty: no plain numbers. Errors name
// operation and argument.
struct Promotion {
  const char* op;
  const char* argument;
  std::vector<int64_t> weak;
  bool wrap = false;  // cast plain integers like arrays, as numpy.where does

  // The common type of the first `count` inputs. Strings and times only combine with their own
  // kind.
  DType TypeOf(const std::vector<Tensor>& inputs, size_t count) const;
  // Input `i` converted to that type; shares memory if it already has the type.
  Tensor Converted(const std::vector<Tensor>& inputs, size_t i, DType type) const;

 private:
  int64_t WeaknessOf(size_t i) const { return i < weak.size() ? weak[i] : 0; }
};

}  // namespace penstock
