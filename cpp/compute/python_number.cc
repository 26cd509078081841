// python_number: arithmetic on sizes, which are Python ints and floats in the plain function.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

constexpr const char* kName = "python_number";
constexpr int64_t kExactInDouble = int64_t{1} << 53;  // doubles up to here hold every integer

enum class Result : uint8_t { kNumber, kFloat, kBool, kBits };

struct Operator {
  std::string_view name;
  Result result;
};
constexpr Operator kOperators[] = {
    {"add", Result::kNumber}, {"sub", Result::kNumber},      {"mul", Result::kNumber},
    {"mod", Result::kNumber}, {"floordiv", Result::kNumber}, {"truediv", Result::kFloat},
    {"and", Result::kBits},   {"or", Result::kBits},         {"xor", Result::kBits},
    {"lt", Result::kBool},    {"le", Result::kBool},         {"gt", Result::kBool},
    {"ge", Result::kBool},    {"eq", Result::kBool},         {"ne", Result::kBool}};

// Inputs: two numbers (int64, float64 or bool), or one of each for every row.
class PythonNumber final : public FillOp {
 public:
  explicit PythonNumber(const Args& args) : name_(args.Text("operator")) {
    for (const Operator& one : kOperators) {
      if (one.name == name_) result_ = one.result;
    }
  }

  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs(kName, inputs, 2);
    TypeCode common = TypeCode::kBool;
    for (const Tensor& input : inputs) {
      const TypeCode code = input.dtype().code;
      if (code != TypeCode::kBool && code != TypeCode::kInt64 && code != TypeCode::kFloat64) {
        throw Error(ErrorKind::kType, "{}: numbers of 64 bits were expected, got {}", kName,
                    input.dtype().name());
      }
      common = std::max(common, code);
    }
    TypeCode made = TypeCode::kBool;
    if (result_ == Result::kFloat) made = TypeCode::kFloat64;
    if (result_ == Result::kNumber) made = std::max(common, TypeCode::kInt64);
    if (result_ == Result::kBits) made = common;
    if (result_ == Result::kBits && common == TypeCode::kFloat64) {
      throw Error(ErrorKind::kType, "{}: there are no bits of a float", kName);
    }
    const bool first = inputs[0].shape().rank() >= inputs[1].shape().rank();
    return {DType::Of(made), inputs[first ? 0 : 1].shape()};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const bool floats = inputs[0].dtype().code == TypeCode::kFloat64 ||
                        inputs[1].dtype().code == TypeCode::kFloat64;
    for (int64_t i = 0; i < out.elements(); ++i) {
      if (result_ == Result::kBool) {
        const int order = floats ? Order(Float(inputs[0], i), Float(inputs[1], i))
                                 : Order(Integer(inputs[0], i), Integer(inputs[1], i));
        out.mutable_data()[i] = Holds(order);
      } else if (floats || result_ == Result::kFloat) {
        reinterpret_cast<double*>(out.mutable_data())[i] =
            OfFloats(Float(inputs[0], i), Float(inputs[1], i));
      } else if (out.dtype().code == TypeCode::kBool) {
        out.mutable_data()[i] =
            static_cast<uint8_t>(OfIntegers(Integer(inputs[0], i), Integer(inputs[1], i)));
      } else {
        reinterpret_cast<int64_t*>(out.mutable_data())[i] =
            OfIntegers(Integer(inputs[0], i), Integer(inputs[1], i));
      }
    }
  }

 private:
  static int64_t Place(const Tensor& tensor, int64_t i) {
    return tensor.shape().rank() == 0 ? 0 : i;
  }

  static int64_t Integer(const Tensor& tensor, int64_t i) {
    i = Place(tensor, i);
    if (tensor.dtype().code == TypeCode::kBool) return tensor.data()[i];
    return reinterpret_cast<const int64_t*>(tensor.data())[i];
  }

  static double Float(const Tensor& tensor, int64_t i) {
    if (tensor.dtype().code == TypeCode::kFloat64) {
      return reinterpret_cast<const double*>(tensor.data())[Place(tensor, i)];
    }
    const int64_t value = Integer(tensor, i);
    if (value > kExactInDouble || value < -kExactInDouble)
      ThrowTooLarge();  // Python does not round first
    return static_cast<double>(value);
  }

  // -1, 0 or 1; 2: unordered.
  template <typename T>
  static int Order(T a, T b) {
    return a < b ? -1 : a == b ? 0 : a > b ? 1 : 2;
  }

  bool Holds(int order) const {
    if (name_ == "lt") return order == -1;
    if (name_ == "le") return order == -1 || order == 0;
    if (name_ == "gt") return order == 1;
    if (name_ == "ge") return order == 1 || order == 0;
    return (order == 0) == (name_ == "eq");
  }

  int64_t OfIntegers(int64_t a, int64_t b) const {
    if (name_ == "and") return a & b;
    if (name_ == "or") return a | b;
    if (name_ == "xor") return a ^ b;
    if (name_ == "floordiv" || name_ == "mod") {
      if (b == 0) ThrowZero();
      if (b == -1) return name_ == "mod" ? 0 : Checked(0, a, "sub");
      int64_t quotient = a / b, rest = a % b;
      if (rest != 0 && (rest < 0) != (b < 0)) {
        --quotient;
        rest += b;
      }
      return name_ == "mod" ? rest : quotient;
    }
    return Checked(a, b, name_);
  }

  static int64_t Checked(int64_t a, int64_t b, std::string_view name) {
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    if (name == "add") {
      if (b > 0 ? a > kMost - b : a < kLeast - b) ThrowTooLarge();
      return a + b;
    }
    if (name == "sub") {
      if (b < 0 ? a > kMost + b : a < kLeast + b) ThrowTooLarge();
      return a - b;
    }
    if (a == 0 || b == 0) return 0;
    const int64_t product =
        static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    if ((a == -1 && b == kLeast) || (b == -1 && a == kLeast) || product / b != a) ThrowTooLarge();
    return product;
  }

  // As CPython's float_divmod.
  double OfFloats(double a, double b) const {
    if (name_ == "add") return a + b;
    if (name_ == "sub") return a - b;
    if (name_ == "mul") return a * b;
    if (b == 0) ThrowZero();
    if (name_ == "truediv") return a / b;
    double rest = std::fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0) {
      if ((b < 0) != (rest < 0)) {
        rest += b;
        quotient -= 1;
      }
    } else {
      rest = std::copysign(0.0, b);
    }
    if (name_ == "mod") return rest;
    if (quotient == 0) return std::copysign(0.0, a / b);
    const double whole = std::floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
  }

  [[noreturn]] static void ThrowZero() {
    throw Error(ErrorKind::kInvalidArgument, "native: a size was divided by zero");
  }
  [[noreturn]] static void ThrowTooLarge() {
    throw Error(ErrorKind::kInvalidArgument,
                "native: a number made of sizes needs more bits than a native function has for it");
  }

  const std::string name_;
  Result result_ = Result::kNumber;
};

// shape_as_array: the array that NumPy makes from a tuple of sizes. Refuses an empty tuple, which
// NumPy makes an array of floats.
class ShapeAsArray final : public FillOp {
 public:
  bool by_rows(const std::vector<Tensor>&) const override { return true; }
  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("shape_as_array", inputs, 1);
    const Shape& shape = inputs[0].shape();
    if (shape.rank() == 0 || shape[shape.rank() - 1] == 0) {
      throw Error(ErrorKind::kInvalidArgument,
                  "native: the tuple of sizes is empty, which NumPy makes an array of floats of; "
                  "use ps.shape(x)");
    }
    return {inputs[0].dtype(), shape};
  }
  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    std::memcpy(out.mutable_data(), inputs[0].data(), inputs[0].nbytes());
  }
};

const RegisterOp python_number_op(kName, NewOp<PythonNumber>);
const RegisterOp shape_as_array_op("shape_as_array", NewOp<ShapeAsArray>);

}  // namespace
}  // namespace penstock
