// Sums and other reductions.
#include "compute/reduce.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "compute/array/axes.h"
#include "compute/cast_items.h"
#include "compute/operand.h"
#include "compute/real_types.h"
#include "data/error.h"

namespace penstock {
namespace {

// Consecutive axes that are all reduced, or all kept.
struct Group {
  int64_t size;
  bool reduced;
  intptr_t from = 0;  // bytes between indices in the input
  intptr_t to = 0;    // and in the output; 0 if reduced
};

// Converts to that type, with each item aligned as the loops require.
Tensor As(TypeCode code, const Tensor& x) {
  const bool same = x.dtype().code == code;
  if (same && reinterpret_cast<uintptr_t>(x.data()) % std::min<size_t>(x.dtype().itemsize, 16) == 0)
    return x;
  Tensor out = Tensor::Make(DType::Of(code), x.shape());
  if (same) {
    std::memcpy(out.mutable_data(), x.data(), x.nbytes());
    return out;
  }
  CastItems(x.dtype().code, x.data(), code, out.mutable_data(), static_cast<size_t>(x.elements()));
  return out;
}

class Reduce final : public FillOp {
 public:
  explicit Reduce(Reduction reduction)
      : how_(std::move(reduction)),
        logical_(how_.loops->name().starts_with("logical")),
        from_first_(how_.loops->name() == "maximum" || how_.loops->name() == "minimum"),
        starts_with_one_(how_.loops->name() == "multiply" || how_.loops->name() == "logical_and") {}

  bool by_rows(const std::vector<Tensor>& inputs) const override {
    int rank = inputs[0].shape().rank() - 1;  // of a row
    return how_.axes &&
           std::ranges::all_of(*how_.axes, [&](int64_t axis) { return axis < 0 && axis >= -rank; });
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs(how_.name.c_str(), inputs, 1);
    const Tensor& x = inputs[0];
    if (x.storage() != Storage::kDense || x.dtype().code > TypeCode::kCLongDouble) {
      throw Error(ErrorKind::kType, "{}: numbers were expected, got {}", how_.name,
                  x.dtype().name());
    }
    std::vector<bool> reduced = ReducedAxes(x.shape());
    std::vector<int64_t> dims;
    int64_t count = 1;
    for (int i = 0; i < x.shape().rank(); ++i) {
      bool goes = reduced[static_cast<size_t>(i)];
      if (goes) count *= x.shape()[i];
      if (!goes) dims.push_back(x.shape()[i]);
      if (goes && how_.keepdims) dims.push_back(1);
    }
    TypeCode sums = SumType(x.dtype().code);
    LoopFor(*how_.loops, sums);
    Shape shape(dims.data(), dims.size());
    bool nothing = count == 0 && shape.elements() > 0;
    if (nothing && (from_first_ || (how_.divide && IsInteger(sums)))) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: at least one item along the axes was expected, got an array of shape {}",
                  how_.name, x.shape().ToString());
    }
    return {DType::Of(ResultType(x.dtype().code)), shape};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    if (out.elements() == 0) return;
    TypeCode type = SumType(inputs[0].dtype().code);
    Tensor x = As(type, inputs[0]);
    Tensor sums = out.dtype().code == type ? out : Tensor::Make(DType::Of(type), out.shape());
    const int64_t count = x.elements() / out.elements();  // number of items in each sum
    // A scalar is stored inside its tensor, so `sums` is then a copy.
    if (how_.type == Reduction::kMeanOfInput && SumMayOverflow(x, count)) {
      MeanInParts(x, count, sums);
    } else {
      Fold(x, sums);
      if (how_.divide) Divide(sums, count);
    }
    if (out.dtype().code != type || out.is_inline()) {
      CastItems(type, sums.data(), out.dtype().code, out.mutable_data(),
                static_cast<size_t>(out.elements()));
    }
  }

 private:
  std::vector<bool> ReducedAxes(const Shape& shape) const {
    if (!how_.axes) return std::vector<bool>(static_cast<size_t>(shape.rank()), true);
    if (how_.of_scalars && shape.rank() == 0 && IsOnlyAxis(*how_.axes)) return {};
    return NamedAxes(how_.name.c_str(), *how_.axes, shape.rank());
  }

  TypeCode SumType(TypeCode input) const {
    if (logical_) return TypeCode::kBool;
    const bool as_input = how_.type == Reduction::kSame || how_.type == Reduction::kMeanOfInput;
    if (as_input && !from_first_ && input == TypeCode::kBool) {
      throw Error(ErrorKind::kType, "{}: numbers were expected, got bool; cast them first",
                  how_.name);
    }
    if (how_.type == Reduction::kSame) return input;
    if (input <= TypeCode::kUInt64) {
      if (how_.type == Reduction::kMean) return TypeCode::kFloat64;
      return input >= TypeCode::kUInt8 ? TypeCode::kUInt64 : TypeCode::kInt64;
    }
    return how_.divide && input == TypeCode::kFloat16 ? TypeCode::kFloat32 : input;
  }

  TypeCode ResultType(TypeCode input) const {
    const TypeCode sums = SumType(input);
    const bool narrow = how_.type == Reduction::kMean && input == TypeCode::kFloat16;
    return narrow || how_.type == Reduction::kMeanOfInput ? input : sums;
  }

  const LoopTable::Loop& LoopFor(const LoopTable& table, TypeCode code) const {
    int kind = LoopTable::KindOf(code, LoopTable::kStrong);
    const LoopTable::Loop* loop = table.Find({kind, kind});
    DType type = DType::Of(code);
    if (!loop || std::ranges::any_of(loop->types, [&](DType of) { return of != type; })) {
      throw Error(ErrorKind::kType, "{}: there is no such operation on {}", how_.name, type.name());
    }
    return *loop;
  }

  std::vector<Group> GroupsOf(const Shape& shape) const {
    std::vector<bool> reduced = ReducedAxes(shape);
    std::vector<Group> groups;
    for (int i = 0; i < shape.rank(); ++i) {
      bool goes = reduced[static_cast<size_t>(i)];
      if (shape[i] == 1) continue;
      if (!groups.empty() && groups.back().reduced == goes) {
        groups.back().size *= shape[i];
      } else {
        groups.push_back({shape[i], goes});
      }
    }
    if (groups.empty()) groups.push_back({1, true});
    return groups;
  }

  void Fold(const Tensor& x, Tensor& sums) const {
    const LoopTable::Loop& loop = LoopFor(*how_.loops, x.dtype().code);
    std::vector<Group> groups = GroupsOf(x.shape());
    const auto item = static_cast<intptr_t>(x.dtype().itemsize);
    intptr_t from = item, to = item;
    for (size_t i = groups.size(); i-- > 0;) {
      groups[i].from = from;
      from *= groups[i].size;
      if (groups[i].reduced) continue;
      groups[i].to = to;
      to *= groups[i].size;
    }
    Start(x, groups, sums);
    if (x.elements() == 0) return;
    const Group inner = groups.back();
    groups.pop_back();
    const std::array<intptr_t, 3> steps{inner.to, item, inner.to};
    ForEach(groups, [&](intptr_t of_input, intptr_t of_sums, bool first) {
      auto* sum = reinterpret_cast<char*>(sums.mutable_data() + of_sums);
      auto* value = reinterpret_cast<char*>(const_cast<uint8_t*>(x.data() + of_input));
      intptr_t count = inner.size;
      if (first && from_first_) {  // copied by Start
        const intptr_t copied = inner.reduced ? 1 : count;
        value += copied * item;
        count -= copied;
      }
      if (count == 0) return;
      std::array<char*, 3> args{sum, value, sum};
      loop.run(args.data(), &count, steps.data(), loop.data);
    });
  }

  // Calls `visit` for each item, in order, with its offsets in input and output, and whether it is
  // the first item of its sum.
  template <typename Visit>
  static void ForEach(const std::vector<Group>& groups, const Visit& visit) {
    std::vector<int64_t> at(groups.size());
    intptr_t from = 0, to = 0;
    for (;;) {
      bool first = true;
      for (size_t i = 0; i < groups.size(); ++i)
        first = first && (!groups[i].reduced || at[i] == 0);
      visit(from, to, first);
      size_t i = groups.size();
      for (; i > 0; --i) {
        const Group& group = groups[i - 1];
        from += group.from;
        to += group.to;
        if (++at[i - 1] < group.size) break;
        from -= group.from * group.size;
        to -= group.to * group.size;
        at[i - 1] = 0;
      }
      if (i == 0) return;
    }
  }

  // Sets the initial values: the neutral value or, for maximum and minimum, the first items.
  void Start(const Tensor& x, std::vector<Group> groups, Tensor& sums) const {
    const size_t item = x.dtype().itemsize;
    if (from_first_) {
      std::erase_if(groups, [](const Group& group) { return group.reduced; });
      ForEach(groups, [&](intptr_t from, intptr_t to, bool) {
        std::memcpy(sums.mutable_data() + to, x.data() + from, item);
      });
      return;
    }
    alignas(16) uint8_t first[32] = {};
    int64_t value = starts_with_one_ ? 1 : 0;
    CastItems(TypeCode::kInt64, &value, x.dtype().code, first, 1);
    for (int64_t i = 0; i < sums.elements(); ++i) {
      std::memcpy(sums.mutable_data() + static_cast<size_t>(i) * item, first, item);
    }
  }

  // Whether the sum of `count` of these 64-bit integers may overflow. Narrower ones, which are
  // added in 64 bits, never do.
  bool SumMayOverflow(const Tensor& x, int64_t count) const {
    bool may = false;
    VisitWide(x, [&]<typename T>(const T* values) {
      const auto [least, most] = std::minmax_element(values, values + x.elements());
      const T number = static_cast<T>(count);
      may = *most > std::numeric_limits<T>::max() / number;
      if constexpr (std::is_signed_v<T>) {
        may = may || *least < std::numeric_limits<T>::min() / number;
      }
    });
    return may;
  }

  // The mean of 64-bit integers whose sum needs more bits: the sum of their quotients by the count,
  // plus the mean of the remainders.
  void MeanInParts(const Tensor& x, int64_t count, Tensor& means) const {
    Tensor quotients = Tensor::Make(x.dtype(), x.shape());
    Tensor remainders = Tensor::Make(x.dtype(), x.shape());
    Tensor rest = Tensor::Make(x.dtype(), means.shape());
    VisitWide(x, [&]<typename T>(const T* values) {
      const T number = static_cast<T>(count);
      auto* quotient = reinterpret_cast<T*>(quotients.mutable_data());
      auto* remainder = reinterpret_cast<T*>(remainders.mutable_data());
      for (int64_t i = 0; i < x.elements(); ++i) {
        quotient[i] = static_cast<T>(values[i] / number);
        remainder[i] = static_cast<T>(values[i] % number);
      }
      Fold(quotients, means);
      Fold(remainders, rest);
      auto* mean = reinterpret_cast<T*>(means.mutable_data());
      const auto* left = reinterpret_cast<const T*>(rest.data());
      for (int64_t i = 0; i < means.elements(); ++i) {
        mean[i] = static_cast<T>(mean[i] + left[i] / number);
        const T cut = static_cast<T>(left[i] % number);
        if constexpr (std::is_signed_v<T>) {  // truncated towards zero, as each partial result was
          if (mean[i] > 0 && cut < 0) --mean[i];
          if (mean[i] < 0 && cut > 0) ++mean[i];
        }
      }
    });
  }

  // Calls `visit` with the items of 64-bit integers; does nothing for other types.
  template <typename Visit>
  static void VisitWide(const Tensor& x, const Visit& visit) {
    if (x.dtype().code == TypeCode::kInt64) visit(reinterpret_cast<const int64_t*>(x.data()));
    if (x.dtype().code == TypeCode::kUInt64) visit(reinterpret_cast<const uint64_t*>(x.data()));
  }

  void Divide(Tensor& sums, int64_t count) const {
    bool whole = false;
    VisitReal(sums.dtype().code, [&]<typename T>(std::type_identity<T>) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        auto* values = reinterpret_cast<T*>(sums.mutable_data());
        // In 64 bits: the count may be out of the type's range.
        using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
        for (int64_t i = 0; i < sums.elements(); ++i) {
          values[i] = static_cast<T>(static_cast<Wide>(values[i]) / static_cast<Wide>(count));
        }
        whole = true;
      }
    });
    if (whole) return;
    // NumPy divides complex64 as complex128.
    const TypeCode type = sums.dtype().code;
    const bool widened = type == TypeCode::kComplex64;
    Tensor wide = As(widened ? TypeCode::kComplex128 : type, sums);
    DivideBy(count, widened ? wide : sums);
    if (widened) {
      CastItems(TypeCode::kComplex128, wide.data(), type, sums.mutable_data(),
                static_cast<size_t>(sums.elements()));
    }
  }

  void DivideBy(int64_t count, Tensor& sums) const {
    const LoopTable::Loop& loop = LoopFor(*how_.divide, sums.dtype().code);
    alignas(16) uint8_t divisor[32] = {};
    CastItems(TypeCode::kInt64, &count, sums.dtype().code, divisor, 1);
    auto* values = reinterpret_cast<char*>(sums.mutable_data());
    const auto item = static_cast<intptr_t>(sums.dtype().itemsize);
    std::array<char*, 3> args{values, reinterpret_cast<char*>(divisor), values};
    const std::array<intptr_t, 3> steps{item, 0, item};
    const intptr_t length = sums.elements();
    loop.run(args.data(), &length, steps.data(), loop.data);
  }

  const Reduction how_;
  const bool logical_;
  const bool from_first_;       // has no neutral value
  const bool starts_with_one_;  // its neutral value is 1
};

}  // namespace

std::unique_ptr<const Op> MakeReduce(Reduction reduction) {
  return std::make_unique<Reduce>(std::move(reduction));
}

}  // namespace penstock
