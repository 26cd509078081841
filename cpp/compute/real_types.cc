// Names of number types.
#include "compute/real_types.h"

#include "data/error.h"

namespace penstock {

TypeCode PartOf(TypeCode code) {
  switch (code) {
    case TypeCode::kComplex64:
      return TypeCode::kFloat32;
    case TypeCode::kComplex128:
      return TypeCode::kFloat64;
    case TypeCode::kCLongDouble:
      return TypeCode::kLongDouble;
    default:
      return code;
  }
}

DType TypeNamed(const char* op, const char* argument, const std::string& name) {
  for (int i = 0; i <= static_cast<int>(TypeCode::kCLongDouble); ++i) {
    DType type = DType::Of(static_cast<TypeCode>(i));
    if (type.name() == name) return type;
  }
  // NumPy names these two by their platform-specific size.
  if (name == "float96" || name == "float128") return DType::Of(TypeCode::kLongDouble);
  if (name == "complex192" || name == "complex256") return DType::Of(TypeCode::kCLongDouble);
  throw Error(ErrorKind::kType, "{}: {} must be a bool, integer, float or complex type, got {}",
              std::string_view(op), std::string_view(argument), name);
}

}  // namespace penstock
