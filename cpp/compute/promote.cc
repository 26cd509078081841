// NumPy's promotion of number types.
#include "compute/promote.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "compute/cast_items.h"
#include "compute/elementwise.h"
#include "compute/real_types.h"
#include "data/error.h"

namespace penstock {
namespace {

bool IsNumber(TypeCode code) { return code <= TypeCode::kCLongDouble; }
bool IsComplex(TypeCode code) { return code >= TypeCode::kComplex64 && IsNumber(code); }
bool IsUnsigned(TypeCode code) { return code >= TypeCode::kUInt8 && code <= TypeCode::kUInt64; }

// Bools, integers, floats or complex numbers.
int KindOf(TypeCode number) {
  if (number == TypeCode::kBool) return 0;
  return IsInteger(number) ? 1 : IsFloating(number) ? 2 : 3;
}

TypeCode ComplexOf(TypeCode part) {
  if (part == TypeCode::kLongDouble) return TypeCode::kCLongDouble;
  return part == TypeCode::kFloat64 ? TypeCode::kComplex128 : TypeCode::kComplex64;
}

// The smallest float type to which NumPy promotes an integer type.
TypeCode FloatFor(TypeCode integer) {
  size_t bytes = DType::Of(integer).itemsize;
  if (bytes == 1) return TypeCode::kFloat16;
  return bytes == 2 ? TypeCode::kFloat32 : TypeCode::kFloat64;
}

// The common type of a signed and an unsigned type.
TypeCode MixedIntegers(TypeCode of_signed, TypeCode of_unsigned) {
  size_t bytes = DType::Of(of_unsigned).itemsize;
  if (DType::Of(of_signed).itemsize > bytes) return of_signed;
  if (bytes == 8) return TypeCode::kFloat64;
  if (bytes == 4) return TypeCode::kInt64;
  return bytes == 2 ? TypeCode::kInt32 : TypeCode::kInt16;
}

// The common type of a type and a plain number of this weakness.
TypeCode WithPlain(TypeCode type, int64_t weak) {
  if (weak == LoopTable::kInt) return type == TypeCode::kBool ? TypeCode::kInt64 : type;
  if (weak == LoopTable::kFloat) {
    return IsFloating(type) || IsComplex(type) ? type : TypeCode::kFloat64;
  }
  if (IsComplex(type)) return type;
  return IsFloating(type) ? ComplexOf(type) : TypeCode::kComplex128;
}

// The first plain integer that does not fit into that type, as text.
std::optional<std::string> Misfit(const Tensor& integers, TypeCode code) {
  std::optional<std::string> misfit;
  auto look = [&]<typename Plain>(const Plain* values) {
    VisitReal(code, [&]<typename T>(std::type_identity<T>) {
      if constexpr (std::is_integral_v<T>) {
        for (int64_t i = 0; i < integers.elements() && !misfit; ++i) {
          bool fits;
          if constexpr (std::is_same_v<T, bool>)
            fits = std::in_range<int64_t>(values[i]);  // anything but 0 is True
          else
            fits = std::in_range<T>(values[i]);
          if (!fits) misfit = std::to_string(values[i]);
        }
      }
    });
  };
  if (integers.dtype().code == TypeCode::kUInt64)
    look(reinterpret_cast<const uint64_t*>(integers.data()));
  else if (integers.dtype().code == TypeCode::kInt64)
    look(reinterpret_cast<const int64_t*>(integers.data()));
  return misfit;
}

// Whether float64 represents all of the integers exactly: each has at most 53 bits.
bool AreDoubles(const Tensor& integers) {
  auto look = [&]<typename Plain>(const Plain* values) {
    return std::all_of(values, values + integers.elements(), [](Plain value) {
      return std::cmp_less_equal(value, int64_t{1} << 53) &&
             std::cmp_greater_equal(value, -(int64_t{1} << 53));
    });
  };
  if (integers.dtype().code == TypeCode::kUInt64)
    return look(reinterpret_cast<const uint64_t*>(integers.data()));
  return look(reinterpret_cast<const int64_t*>(integers.data()));
}

}  // namespace

TypeCode Promoted(TypeCode a, TypeCode b) {
  if (a > b) std::swap(a, b);  // bool, signed, unsigned, floats, complex: each by size
  if (a == b || a == TypeCode::kBool) return b;
  if (IsComplex(b)) return ComplexOf(Promoted(PartOf(b), PartOf(a)));
  if (IsFloating(b)) return IsFloating(a) ? b : std::max(b, FloatFor(a));
  return IsUnsigned(b) && !IsUnsigned(a) ? MixedIntegers(a, b) : b;
}

bool Fit(const Tensor& integers, TypeCode code) { return !Misfit(integers, code); }

Tensor FromPlain(std::string_view op, const Tensor& integers, DType type) {
  if (auto misfit = Misfit(integers, type.code)) {
    throw Error(ErrorKind::kOverflow, "{}: Python integer {} out of bounds for {}", op, *misfit,
                type.name());
  }
  Tensor from = integers;
  const bool exact = type.code == TypeCode::kLongDouble;
  if (type.code == TypeCode::kCLongDouble && !AreDoubles(integers)) {
    throw Error(ErrorKind::kInvalidArgument,
                "{}: NumPy does not always round an integer beyond 2**53 beside {}; write it as a "
                "float",
                op, type.name());
  }
  if (!IsInteger(type.code) && !exact) {  // NumPy rounds to double first
    from = Tensor::Make(DType::Of(TypeCode::kFloat64), integers.shape());
    CastItems(integers.dtype().code, integers.data(), TypeCode::kFloat64, from.mutable_data(),
              static_cast<size_t>(integers.elements()));
  }
  Tensor made = Tensor::Make(type, integers.shape());
  CastItems(from.dtype().code, from.data(), type.code, made.mutable_data(),
            static_cast<size_t>(integers.elements()));
  return made;
}

DType Promotion::TypeOf(const std::vector<Tensor>& inputs, size_t count) const {
  std::optional<DType> found;
  for (size_t i = 0; i < count; ++i) {
    DType type = inputs[i].dtype();
    if (type.code == TypeCode::kObject) {
      if (inputs[i].elements() == 0) continue;  // may have been strings
      throw Error(ErrorKind::kType, "{}: {} must be numbers or strings, got opaque objects",
                  std::string_view(op), std::string_view(argument));
    }
    if (WeaknessOf(i)) continue;
    if (!found || *found == type) {
      found = type;
    } else if (IsNumber(found->code) && IsNumber(type.code)) {
      // Combine integers with floats individually: two integer types may need a wider type than
      // each.
      const int kind = KindOf(type.code), most = KindOf(found->code);
      if (kind >= most)
        found = DType::Of(kind > most ? type.code : Promoted(found->code, type.code));
    } else {
      throw Error(ErrorKind::kType, "{}: {} must be of one kind, got {} and {}",
                  std::string_view(op), std::string_view(argument), found->name(), type.name());
    }
  }
  if (found && IsNumber(found->code)) {
    TypeCode all = found->code;
    for (size_t i = 0; i < count; ++i) {
      const TypeCode code = inputs[i].dtype().code;
      if (!WeaknessOf(i) && IsNumber(code)) all = Promoted(all, Promoted(found->code, code));
    }
    found = DType::Of(all);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!WeaknessOf(i)) continue;
    if (!found) {
      const bool cut = wrap && WeaknessOf(i) == LoopTable::kInt;
      found = cut ? DType::Of(TypeCode::kInt64) : inputs[i].dtype();
    } else if (IsNumber(found->code)) {
      found = DType::Of(WithPlain(found->code, WeaknessOf(i)));
    } else {
      throw Error(ErrorKind::kType, "{}: {} must be of one kind, got {} and a number",
                  std::string_view(op), std::string_view(argument), found->name());
    }
  }
  return found ? *found : DType::Of(TypeCode::kBytes);
}

Tensor Promotion::Converted(const std::vector<Tensor>& inputs, size_t i, DType type) const {
  const Tensor& input = inputs[i];
  if (input.dtype() == type) return input;
  const bool integer = WeaknessOf(i) == LoopTable::kInt && input.dtype().code <= TypeCode::kUInt64;
  if (integer && !wrap) return FromPlain(op, input, type);
  Tensor out = Tensor::Make(type, input.shape());
  CastItems(input.dtype().code, input.data(), type.code, out.mutable_data(),
            static_cast<size_t>(input.elements()));
  return out;
}

}  // namespace penstock
