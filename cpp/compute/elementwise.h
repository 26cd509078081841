// Operations that do the same to each item, by loops that come from outside: NumPy's ufuncs, or C
// functions of the user.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/op.h"

namespace penstock {

// Runs over `*count` items; operand i (inputs, then outputs) begins at args[i] and advances by
// strides[i] bytes. The same as NumPy's PyUFuncGenericFunction. No lock of a foreign runtime is
// held.
using ItemLoop = void (*)(char** args, const intptr_t* count, const intptr_t* strides, void* data);

// Loops of one function, and which of them serves which types.
class LoopTable {
 public:
  // What an input is: a type, or a plain number of the user's code that takes the type of the
  // others.
  enum Weak : uint8_t { kStrong, kInt, kFloat, kComplex };
  static constexpr int kKinds = 19;  // TypeCode up to kCLongDouble, then the weak ones
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
  // Inputs of these kinds are served by that loop.
  void Serve(const std::vector<int>& kinds, int loop);
  // Null when there is none.
  const Loop* Find(const std::vector<int>& kinds) const;

 private:
  size_t PlaceOf(const std::vector<int>& kinds) const;
  const std::string name_;
  const int inputs_, outputs_;
  std::vector<Loop> loops_;
  std::vector<int16_t> serving_;  // by the kinds of all inputs; -1: none
};

// Inputs are broadcast against each other by NumPy's rules. `weak` says which of them are plain
// numbers; `of_scalars`: without any axes it computes what NumPy does for scalars, whose operators
// and functions of one number differ from those of arrays without axes.
std::unique_ptr<const Op> MakeElementwise(std::shared_ptr<const LoopTable> table,
                                          std::vector<LoopTable::Weak> weak,
                                          bool of_scalars = false);

using LoopsPtr = std::shared_ptr<const LoopTable>;

// The first input between limits, as numpy.clip computes it: a plain integer at the end of the type
// or beyond it limits nothing. The inputs are the value and the limits that are given.
struct ClipLoops {
  LoopsPtr clip, minimum, maximum, positive;
};
struct ClipLimits {
  std::optional<LoopTable::Weak> low, high;
};
std::unique_ptr<const Op> MakeClip(const ClipLoops& loops, const ClipLimits& limits);

// The first input to the power of the second, as the operator ** computes it, which is not always
// what numpy.power does.
struct PowerLoops {
  LoopsPtr power, square, reciprocal, sqrt;
  bool squares_bools;  // whether arrays of bools are squared too, which depends on NumPy's version
};
struct PowerOperand {
  LoopTable::Weak weak;
  bool stays_array;  // also without axes, where NumPy does not turn it into a scalar
};
std::unique_ptr<const Op> MakePower(const PowerLoops& loops, PowerOperand base,
                                    PowerOperand exponent);
// The operator abs, of scalars where there are no axes.
std::unique_ptr<const Op> MakeAbsolute(LoopsPtr absolute);
// The same operation of two inputs as an operator that changes the first one: `x += y`. What comes
// out is the array after the change. `name` is for errors; `stays_array` as of a PowerOperand.
std::unique_ptr<const Op> MakeInPlace(std::shared_ptr<const Op> op, std::string name,
                                      bool stays_array);

}  // namespace penstock
