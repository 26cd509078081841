// Maps a type code to the C++ type of its items, and a name to a type.
#pragma once

#include <string>
#include <type_traits>

#include "compute/half.h"
#include "data/dtype.h"

namespace penstock {

// Calls visit(std::type_identity<T>()) for a bool, integer or floating-point type; false for
// others.
template <typename Visit>
bool VisitReal(TypeCode code, const Visit& visit) {
  switch (code) {
    case TypeCode::kBool:
      visit(std::type_identity<bool>());
      return true;
    case TypeCode::kInt8:
      visit(std::type_identity<int8_t>());
      return true;
    case TypeCode::kInt16:
      visit(std::type_identity<int16_t>());
      return true;
    case TypeCode::kInt32:
      visit(std::type_identity<int32_t>());
      return true;
    case TypeCode::kInt64:
      visit(std::type_identity<int64_t>());
      return true;
    case TypeCode::kUInt8:
      visit(std::type_identity<uint8_t>());
      return true;
    case TypeCode::kUInt16:
      visit(std::type_identity<uint16_t>());
      return true;
    case TypeCode::kUInt32:
      visit(std::type_identity<uint32_t>());
      return true;
    case TypeCode::kUInt64:
      visit(std::type_identity<uint64_t>());
      return true;
    case TypeCode::kFloat16:
      visit(std::type_identity<Half>());
      return true;
    case TypeCode::kFloat32:
      visit(std::type_identity<float>());
      return true;
    case TypeCode::kFloat64:
      visit(std::type_identity<double>());
      return true;
    case TypeCode::kLongDouble:
      visit(std::type_identity<long double>());
      return true;
    default:
      return false;
  }
}

inline bool IsInteger(TypeCode code) {
  return code >= TypeCode::kInt8 && code <= TypeCode::kUInt64;
}
inline bool IsFloating(TypeCode code) {
  return code >= TypeCode::kFloat16 && code <= TypeCode::kLongDouble;
}
inline bool IsReal(TypeCode code) { return code <= TypeCode::kLongDouble; }
// The type of the real and imaginary parts of a complex type; the type itself for others.
TypeCode PartOf(TypeCode code);

// The number type that NumPy calls `name`; otherwise a TypeError that names operation and argument.
DType TypeNamed(const char* op, const char* argument, const std::string& name);

}  // namespace penstock
