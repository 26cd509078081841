// Reads an integer leaf, such as a class number or an input index returned by a function or
// dataset.
#pragma once

#include <optional>

#include "data/spec.h"

namespace penstock {

// The value of a single integer of any type; nullopt otherwise.
inline std::optional<int64_t> WholeNumber(const Tensor& leaf) {
  if (leaf.elements() != 1) return std::nullopt;
  switch (leaf.dtype().code) {
    case TypeCode::kInt8:
      return leaf.value<int8_t>();
    case TypeCode::kInt16:
      return leaf.value<int16_t>();
    case TypeCode::kInt32:
      return leaf.value<int32_t>();
    case TypeCode::kInt64:
      return leaf.value<int64_t>();
    case TypeCode::kUInt8:
      return leaf.value<uint8_t>();
    case TypeCode::kUInt16:
      return leaf.value<uint16_t>();
    case TypeCode::kUInt32:
      return leaf.value<uint32_t>();
    case TypeCode::kUInt64:
      return static_cast<int64_t>(leaf.value<uint64_t>());
    default:
      return std::nullopt;
  }
}

inline bool IsWholeNumber(const ElementSpec& spec) {
  if (spec.leaves.size() != 1 || spec.structure != Structure::Leaf()) return false;
  const LeafSpec& leaf = spec.leaves[0];
  return (leaf.any_rank || leaf.shape.rank() == 0) && leaf.dtype.code >= TypeCode::kInt8 &&
         leaf.dtype.code <= TypeCode::kUInt64;
}

inline std::optional<int64_t> WholeNumber(const Element& element) {
  if (element.structure != Structure::Leaf()) return std::nullopt;
  return WholeNumber(element.leaves[0]);
}

}  // namespace penstock
