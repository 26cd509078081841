// Arithmetic sequences in any numeric type.
#pragma once

#include <cstdint>
#include <type_traits>

#include "data/spec.h"

namespace penstock {

// Writes start + (first + i) * step for i in [0, rows). Integers wrap around.
template <typename Number>
using FillFunction = void (*)(void* out, Number start, Number step, int64_t first, int64_t rows);

template <typename T, typename Number>
void FillSteps(void* out, Number start, Number step, int64_t first, int64_t rows) {
  T* to = static_cast<T*>(out);
  for (int64_t i = 0; i < rows; ++i) {
    if constexpr (std::is_integral_v<Number>) {
      uint64_t sum = static_cast<uint64_t>(start) +
                     static_cast<uint64_t>(first + i) * static_cast<uint64_t>(step);
      to[i] = static_cast<T>(static_cast<int64_t>(sum));
    } else {
      to[i] = static_cast<T>(start + static_cast<Number>(first + i) * step);
    }
  }
}

// `argument`: for the error, such as "range: output_type".
template <typename Number>
FillFunction<Number> FillOf(const LeafSpec& leaf, const char* argument) {
  switch (leaf.dtype.code) {
    case TypeCode::kInt8:
      return FillSteps<int8_t, Number>;
    case TypeCode::kInt16:
      return FillSteps<int16_t, Number>;
    case TypeCode::kInt32:
      return FillSteps<int32_t, Number>;
    case TypeCode::kInt64:
      return FillSteps<int64_t, Number>;
    case TypeCode::kUInt8:
      return FillSteps<uint8_t, Number>;
    case TypeCode::kUInt16:
      return FillSteps<uint16_t, Number>;
    case TypeCode::kUInt32:
      return FillSteps<uint32_t, Number>;
    case TypeCode::kUInt64:
      return FillSteps<uint64_t, Number>;
    case TypeCode::kFloat32:
      return FillSteps<float, Number>;
    case TypeCode::kFloat64:
      return FillSteps<double, Number>;
    default:
      throw Error(ErrorKind::kType, "{} must be an integer or float type, got {}",
                  std::string_view(argument), leaf.dtype.name());
  }
}

}  // namespace penstock
