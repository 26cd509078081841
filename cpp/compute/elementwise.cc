// Selects the loop for some operands, and makes NumPy's checks before the loop runs.
#include "compute/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "compute/broadcast_loop.h"
#include "compute/cast_items.h"
#include "compute/promote.h"
#include "compute/real_types.h"

namespace penstock {

LoopTable::LoopTable(std::string name, int inputs, int outputs)
    : name_(std::move(name)), inputs_(inputs), outputs_(outputs) {
  size_t places = 1;
  for (int i = 0; i < inputs; ++i) places *= kKinds;
  serving_.assign(places, -1);
}

int LoopTable::Add(Loop loop) {
  loops_.push_back(std::move(loop));
  return static_cast<int>(loops_.size()) - 1;
}

size_t LoopTable::PlaceOf(const std::vector<int>& kinds) const {
  size_t place = 0;
  for (int kind : kinds) place = place * kKinds + static_cast<size_t>(kind);
  return place;
}

void LoopTable::Serve(const std::vector<int>& kinds, int loop) {
  serving_[PlaceOf(kinds)] = static_cast<int16_t>(loop);
}

const LoopTable::Loop* LoopTable::Find(const std::vector<int>& kinds) const {
  int loop = serving_[PlaceOf(kinds)];
  return loop < 0 ? nullptr : &loops_[static_cast<size_t>(loop)];
}

namespace {

// Their real results do not depend on how many items a loop receives per call.
constexpr std::array<std::string_view, 10> kExactOps{
    "add",       "subtract", "multiply",   "divide",  "equal",
    "not_equal", "less",     "less_equal", "greater", "greater_equal"};

// NumPy's loops for these have shortcuts for a single exponent, or a single limit, that applies to
// many items; the results differ in some bits.
constexpr std::array<std::string_view, 2> kShorter{"power", "clip"};
// The mean of their results is the result for the mean of the first operand.
constexpr std::array<std::string_view, 4> kLinear{"add", "subtract", "multiply", "divide"};
// Which of two zeros they return depends on the position among the items.
constexpr std::array<std::string_view, 2> kByPlace{"fmin", "fmax"};

// Comparisons, with their results for a smaller and for a larger first operand.
struct Comparison {
  std::string_view name;
  bool of_smaller, of_larger;
};
constexpr std::array<Comparison, 6> kComparisons{{{"less", true, false},
                                                  {"less_equal", true, false},
                                                  {"greater", false, true},
                                                  {"greater_equal", false, true},
                                                  {"equal", false, false},
                                                  {"not_equal", true, true}}};

const Comparison* FindComparison(std::string_view name) {
  auto found = std::ranges::find(kComparisons, name, &Comparison::name);
  return found == kComparisons.end() ? nullptr : &*found;
}

bool IsNegative(const Tensor& integer) {
  return integer.dtype().code == TypeCode::kInt64 && integer.value<int64_t>() < 0;
}

// Calls the loops of one function.
class Calls {
 public:
  Calls(std::shared_ptr<const LoopTable> table, std::vector<LoopTable::Weak> weak, bool of_scalars)
      : table_(std::move(table)),
        weak_(std::move(weak)),
        of_scalars_(of_scalars),
        comparison_(FindComparison(table_->name())),
        shorter_(std::ranges::count(kShorter, table_->name()) > 0),
        by_place_(std::ranges::count(kByPlace, table_->name()) > 0),
        divides_(table_->name() == "divide"),
        no_negatives_(table_->name() == "power"),
        exact_(std::ranges::count(kExactOps, table_->name()) > 0) {}

  size_t outputs() const { return static_cast<size_t>(table_->outputs()); }
  bool keeps_means() const { return std::ranges::count(kLinear, table_->name()) > 0; }

  bool by_rows(const std::vector<Tensor>& inputs) const {
    // NumPy squares a single complex number differently than several.
    const bool real = std::ranges::none_of(
        inputs, [](const Tensor& input) { return input.dtype().code >= TypeCode::kComplex64; });
    if (shorter_ && CastsMany(inputs)) return false;
    if (!real || by_place_ || (shorter_ && AreSingleItems(inputs))) return false;
    // A plain integer that does not fit must be handled for each row separately.
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (weak_[i] != LoopTable::kInt || inputs[i].shape().rank() == 0) continue;
      const LoopTable::Loop* loop = table_->Find(KindsOf(inputs));
      if (!loop || !Fit(inputs[i], loop->types[i].code)) return false;
    }
    return true;
  }

  LeafSpec Output(const std::vector<Tensor>& inputs, size_t number) const {
    return {LoopFor(inputs).types[inputs.size() + number], ShapeOf(inputs)};
  }

  // Fills the outputs, which have the declared types and shape.
  void Run(const std::vector<Tensor>& inputs, Tensor* outputs) const {
    const Shape shape = outputs[0].shape();
    const LoopTable::Loop& loop = LoopFor(inputs);
    CheckOrder(inputs, shape);
    CheckDivisor(inputs);
    if (const std::optional<bool> known = KnownComparison(inputs, loop)) {
      if (shape.elements() > 0) {
        std::memset(outputs[0].mutable_data(), *known, outputs[0].nbytes());
      }
      return;
    }
    if (shape.elements() == 0) return CheckPlain(inputs, loop);
    std::array<Tensor, kMostOperands> converted;
    Operands operands{};
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor* input = &inputs[i];
      bool aligned = reinterpret_cast<uintptr_t>(input->data()) % loop.types[i].itemsize == 0 ||
                     loop.types[i].itemsize > alignof(std::max_align_t);
      if (input->dtype() != loop.types[i] || !aligned) {
        converted[i] = Converted(inputs, loop.types[i], i);
        input = &converted[i];
      }
      operands[i] = Broadcast(input->data(), input->shape(), loop.types[i].itemsize, shape);
    }
    if (no_negatives_ && IsInteger(loop.types[1].code)) CheckExponents(operands[1], shape, loop);
    for (size_t i = inputs.size(); i < loop.types.size(); ++i) {
      operands[i] = Broadcast(outputs[i - inputs.size()].mutable_data(), shape,
                              loop.types[i].itemsize, shape);
    }
    Tensor written_out;
    if (shorter_ && CastsMany(inputs)) {
      const size_t limit = inputs[1].elements() > 1 && inputs[1].dtype() != loop.types[1] ? 1 : 2;
      written_out = WrittenOut(operands[limit], loop.types[limit], shape);
      operands[limit] = Broadcast(written_out.data(), shape, loop.types[limit].itemsize, shape);
    }
    if (shape.elements() == 1) {
      RunSingle(inputs, loop, operands);
    } else {
      RunBroadcast(loop, operands, shape, exact_);
    }
  }

 private:
  // Whether NumPy must cast exponents or limits that are arrays. It then passes them to the loop
  // through buffers, never as one item for many.
  bool CastsMany(const std::vector<Tensor>& inputs) const {
    const LoopTable::Loop* loop = table_->Find(KindsOf(inputs));
    if (!loop || !IsFloating(loop->types[0].code)) return false;
    for (size_t i = 1; i < inputs.size(); ++i) {
      if (inputs[i].elements() > 1 && inputs[i].dtype() != loop->types[i]) return true;
    }
    return false;
  }

  // Whether the rows may have one item each.
  static bool AreSingleItems(const std::vector<Tensor>& inputs) {
    return std::ranges::all_of(inputs, [](const Tensor& input) {
      const Shape shape = input.shape();
      return shape.rank() == 0 || input.elements() <= shape[0];
    });
  }

  std::vector<int> KindsOf(const std::vector<Tensor>& inputs) const {
    std::vector<int> kinds(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      TypeCode code = inputs[i].dtype().code;
      if (code > TypeCode::kCLongDouble) {
        throw Error(ErrorKind::kType, "{}: numbers were expected, got {}", table_->name(),
                    inputs[i].dtype().name());
      }
      kinds[i] = LoopTable::KindOf(code, weak_[i]);
    }
    return kinds;
  }

  const LoopTable::Loop& LoopFor(const std::vector<Tensor>& inputs) const {
    const LoopTable::Loop* loop = table_->Find(KindsOf(inputs));
    if (loop) return *loop;
    std::string types;
    for (const Tensor& input : inputs) {
      if (!types.empty()) types += ", ";
      types += input.dtype().name();
    }
    throw Error(ErrorKind::kType, "{}: there is no such operation on {}", table_->name(), types);
  }

  Shape ShapeOf(const std::vector<Tensor>& inputs) const {
    Shape shape = inputs[0].shape();
    for (size_t i = 1; i < inputs.size(); ++i) {
      Shape other = inputs[i].shape();
      if (other == shape) continue;
      if (other.rank() > shape.rank()) std::swap(shape, other);
      for (int a = other.rank() - 1, b = shape.rank() - 1; a >= 0; --a, --b) {
        if (shape[b] == 1) {
          shape[b] = other[a];
        } else if (other[a] != 1 && other[a] != shape[b]) {
          std::string shapes;
          for (const Tensor& input : inputs) {
            shapes += ' ';
            shapes += input.shape().ToString();
          }
          throw Error(ErrorKind::kInvalidArgument,
                      "{}: operands could not be broadcast together with shapes{}", table_->name(),
                      shapes);
        }
      }
    }
    return shape;
  }

  // The result, equal for all items, of comparing integers with a plain integer beyond their type.
  std::optional<bool> KnownComparison(const std::vector<Tensor>& inputs,
                                      const LoopTable::Loop& loop) const {
    if (!comparison_) return std::nullopt;
    for (size_t i = 0; i < 2; ++i) {
      const Tensor &number = inputs[i], &others = inputs[1 - i];
      if (weak_[i] != LoopTable::kInt || number.shape().rank() > 0 ||
          !IsInteger(others.dtype().code) || Fit(number, loop.types[i].code)) {
        continue;
      }
      const bool first_smaller = IsNegative(number) == (i == 0);
      return first_smaller ? comparison_->of_smaller : comparison_->of_larger;
    }
    return std::nullopt;
  }

  // A plain integer beyond the type is an error even if there are no items.
  void CheckPlain(const std::vector<Tensor>& inputs, const LoopTable::Loop& loop) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (weak_[i] == LoopTable::kInt) Converted(inputs, loop.types[i], i);
    }
  }

  Tensor Converted(const std::vector<Tensor>& inputs, DType type, size_t number) const {
    const Tensor& input = inputs[number];
    if (weak_[number] == LoopTable::kInt) {
      return FromPlain(table_->name(), input, type);
    }
    Tensor made = Tensor::Make(type, input.shape());
    if (input.dtype() == type) {
      std::memcpy(made.mutable_data(), input.data(), input.nbytes());
    } else {
      CastItems(input.dtype().code, input.data(), type.code, made.mutable_data(),
                static_cast<size_t>(input.elements()));
    }
    return made;
  }

  // Runs one item with the strides that NumPy would use: loops have several variants, and choose by
  // the strides between arrays and scalars.
  void RunSingle(const std::vector<Tensor>& inputs, const LoopTable::Loop& loop,
                 const Operands& operands) const {
    std::array<char*, kMostOperands> args{};
    std::array<intptr_t, kMostOperands> strides{};
    bool one_call = true;  // no axis iterator, for which size-1 axes have stride 0
    Shape of_arrays;
    for (size_t i = 0; i < loop.types.size(); ++i) {
      args[i] = operands[i].data;
      strides[i] = loop.types[i].itemsize;
      if (i >= inputs.size()) continue;
      const Shape shape = inputs[i].shape();
      if (shape.rank() == 0) {
        strides[i] = 0;
        continue;
      }
      if (of_arrays.rank() == 0) of_arrays = shape;
      const bool cast = inputs[i].dtype() != loop.types[i];
      one_call = one_call && shape == of_arrays && (!cast || shape.rank() == 1);
    }
    if (!one_call || (of_scalars_ && of_arrays.rank() == 0)) strides.fill(0);
    const intptr_t count = 1;
    loop.run(args.data(), &count, strides.data(), loop.data);
  }

  // NumPy orders these differently as scalars and as arrays.
  void CheckOrder(const std::vector<Tensor>& inputs, const Shape& shape) const {
    if (!of_scalars_ || !comparison_ || shape.rank() > 0) return;
    if (comparison_->of_smaller == comparison_->of_larger) return;
    for (const Tensor& input : inputs) {
      if (input.dtype().code < TypeCode::kComplex64) continue;
      bool nan[2];
      const TypeCode part = PartOf(input.dtype().code);
      for (size_t i = 0; i < 2; ++i) {
        long double value = 0;
        CastItems(part, input.data() + i * DType::Of(part).itemsize, TypeCode::kLongDouble, &value,
                  1);
        nan[i] = std::isnan(value);
      }
      if (nan[0] || nan[1]) {
        throw Error(ErrorKind::kInvalidArgument,
                    "{}: a complex number with NaN has no order of which NumPy is sure; compare "
                    "np.real and np.imag of it",
                    table_->name());
      }
    }
  }

  // Dividing a Python complex by a float64, which is a Python float, raises Python's error.
  void CheckDivisor(const std::vector<Tensor>& inputs) const {
    if (!of_scalars_ || !divides_ || weak_[0] != LoopTable::kComplex ||
        inputs[1].shape().rank() > 0)
      return;
    if (inputs[1].dtype().code == TypeCode::kFloat64 && inputs[1].value<double>() == 0) {
      throw Error(ErrorKind::kInvalidArgument,
                  "divide: complex division by zero, which is an error in Python; write "
                  "np.complex128(...) for the number");
    }
  }

  // NumPy's loop would acquire the GIL to raise this error.
  void CheckExponents(const Strided& exponent, Shape shape, const LoopTable::Loop& loop) const {
    TypeCode code = loop.types[1].code;
    if (code >= TypeCode::kUInt8 && code <= TypeCode::kUInt64) return;
    for (int i = 0; i < shape.rank(); ++i) {
      if (exponent.strides[static_cast<size_t>(i)] == 0) shape[i] = 1;
    }
    const int64_t count = shape.elements();
    for (int64_t i = 0; i < count; ++i) {
      int64_t value = 0;
      CastItems(code, exponent.data + i * int64_t{loop.types[1].itemsize}, TypeCode::kInt64, &value,
                1);
      if (value < 0) {
        throw Error(ErrorKind::kInvalidArgument,
                    "power: Integers to negative integer powers are not allowed.");
      }
    }
  }

  const std::shared_ptr<const LoopTable> table_;
  const std::vector<LoopTable::Weak> weak_;
  const bool of_scalars_;
  const Comparison* const comparison_;  // null: not a comparison
  const bool shorter_;
  const bool by_place_;
  const bool divides_;
  const bool no_negatives_;
  const bool exact_;
};

class Elementwise final : public FillOp {
 public:
  explicit Elementwise(Calls calls) : calls_(std::move(calls)) {}
  bool by_rows(const std::vector<Tensor>& inputs) const override { return calls_.by_rows(inputs); }
  bool row_local() const override { return true; }
  bool keeps_means() const override { return calls_.keeps_means(); }
  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    return calls_.Output(inputs, 0);
  }
  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    calls_.Run(inputs, &out);
  }

 private:
  const Calls calls_;
};

// For several results: divmod.
class ElementwiseMany final : public Op {
 public:
  explicit ElementwiseMany(Calls calls) : calls_(std::move(calls)) {}
  size_t outputs() const override { return calls_.outputs(); }
  bool by_rows(const std::vector<Tensor>& inputs) const override { return calls_.by_rows(inputs); }
  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    std::vector<Tensor> results;
    for (size_t i = 0; i < calls_.outputs(); ++i) {
      LeafSpec spec = calls_.Output(inputs, i);
      results.push_back(Tensor::Make(spec.dtype, spec.shape));
    }
    calls_.Run(inputs, results.data());
    return results;
  }

 private:
  const Calls calls_;
};

}  // namespace

std::unique_ptr<const Op> MakeElementwise(std::shared_ptr<const LoopTable> table,
                                          std::vector<LoopTable::Weak> weak, bool of_scalars) {
  Calls calls(std::move(table), std::move(weak), of_scalars);
  if (calls.outputs() > 1) return std::make_unique<ElementwiseMany>(std::move(calls));
  return std::make_unique<Elementwise>(std::move(calls));
}

}  // namespace penstock
