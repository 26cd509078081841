// The element types of a pipeline, and the only switch over them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

enum class TypeCode : uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kFloat32,
  kFloat64,
  kLongDouble,
  kComplex64,
  kComplex128,
  kCLongDouble,
  kDatetime64,   // int64 counts; the unit is the parameter
  kTimedelta64,  // int64 counts; the unit is the parameter
  kBytes,        // byte strings of any length
  kText,         // the same, marked as UTF-8 text
  kObject,       // opaque objects of a foreign runtime
  kAdded,  // plain bytes of a type that another package adds to NumPy; the parameter is its name
};

// A small value: type, bytes per item, and an interned parameter (unit of a time, name of an added
// type; 0: none).
struct DType {
  TypeCode code = TypeCode::kFloat64;
  uint16_t param = 0;
  uint32_t itemsize = 8;

  bool operator==(const DType&) const = default;
  // Whether items are references to strings or objects rather than plain bytes.
  bool is_reference() const { return code >= TypeCode::kBytes && code <= TypeCode::kObject; }
  // The NumPy name: "float32", "datetime64[ns]"; otherwise "bytes", "str" and "object".
  std::string name() const;

  static DType Of(TypeCode code);
  static DType OfTime(TypeCode code, std::string_view unit);
  static DType Added(std::string_view name, uint32_t itemsize);
  // The text of the interned parameter; "" if none.
  std::string_view parameter() const;
};

template <typename T>
DType DTypeOf();

}  // namespace penstock
