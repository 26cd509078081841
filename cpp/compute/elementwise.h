// Elementwise operations that run external loops: NumPy's ufuncs, or C functions of the user.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/op.h"

namespace penstock {

// Processes `*count` items; operand i (inputs, then outputs) begins at args[i] and advances by
// strides[i] bytes. The same as NumPy's PyUFuncGenericFunction. Called without the lock of a
// foreign runtime.
using ItemLoop = void (*)(char** args, const intptr_t* count, const intptr_t* strides, void* data);

// The loops of one function, and the types that each loop handles.
class LoopTable {
 public:
  // How strongly an input's type counts: kStrong, or a plain number of the user's code, which takes
  // the type of the others.
  enum Weak : uint8_t { kStrong, kInt, kFloat, kComplex };
  static constexpr int kKinds = 19;  // TypeCode up to kCLongDouble, then the weak kinds
  static int KindOf(TypeCode code, Weak weak) {
    return weak == kStrong ? static_cast<int>(code)
                           : static_cast<int>(TypeCode::kCLongDouble) + static_cast<int>(weak);
  }

  struct Loop {
    ItemLoop run;
    void* data;
    std::vector<DType> types;  // of the inputs and the outputs
  };

  LoopTable(std::string name, int inputs, int outputs = 1);
  const std::string& name() const { return name_; }
  int inputs() const { return inputs_; }
  int outputs() const { return outputs_; }
  int Add(Loop loop);
  const std::vector<DType>& types(int loop) const {
    return loops_[static_cast<size_t>(loop)].types;
  }
  // Assigns that loop to inputs of these kinds.
  void Serve(const std::vector<int>& kinds, int loop);
  // Null if no loop is assigned.
  const Loop* Find(const std::vector<int>& kinds) const;

 private:
  size_t PlaceOf(const std::vector<int>& kinds) const;
  const std::string name_;
  const int inputs_, outputs_;
  std::vector<Loop> loops_;
  std::vector<int16_t> serving_;  // by the kinds of all inputs; -1: no loop
};

// Inputs are broadcast against each other by NumPy's rules. `weak` marks plain numbers.
// `of_scalars`: for inputs without axes, computes what NumPy does for scalars, whose operators and
// functions of one number differ from those of zero-dimensional arrays.
std::unique_ptr<const Op> MakeElementwise(std::shared_ptr<const LoopTable> table,
                                          std::vector<LoopTable::Weak> weak,
                                          bool of_scalars = false);

using LoopsPtr = std::shared_ptr<const LoopTable>;

// Clips the first input to limits, as numpy.clip does: a plain integer at or beyond the end of the
// type's range does not limit anything. The inputs are the value and the limits that are set.
struct ClipLoops {
  LoopsPtr clip, minimum, maximum, positive;
};
struct ClipLimits {
  std::optional<LoopTable::Weak> low, high;
};
std::unique_ptr<const Op> MakeClip(const ClipLoops& loops, const ClipLimits& limits);

// The first input to the power of the second, as the operator ** computes it, which differs from
// numpy.power in some cases.
struct PowerLoops {
  LoopsPtr power, square, reciprocal, sqrt;
  bool squares_bools;  // whether arrays of bools are squared too; depends on NumPy's version
};
struct PowerOperand {
  LoopTable::Weak weak;
  bool stays_array;  // also without axes, where NumPy would turn it into a scalar
};
std::unique_ptr<const Op> MakePower(const PowerLoops& loops, PowerOperand base,
                                    PowerOperand exponent);
// The operator abs; inputs without axes are scalars.
std::unique_ptr<const Op> MakeAbsolute(LoopsPtr absolute);
// An operation of two inputs as an in-place operator on the first one: `x += y`. The output is the
// array after the change. `name` is for errors; `stays_array` as in PowerOperand.
std::unique_ptr<const Op> MakeInPlace(std::shared_ptr<const Op> op, std::string name,
                                      bool stays_array);

}  // namespace penstock
