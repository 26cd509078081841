// The conversion loops between number types.
#pragma once

#include <cstddef>

#include "data/dtype.h"

namespace penstock {

// Converts `count` aligned items. Values follow NumPy's astype on x86-64, on every CPU: integers
// wrap; floats are truncated towards zero; out-of-range floats become the smallest int32 or int64,
// which then wraps to a narrower type; the imaginary part is dropped; NaN is True.
using CastLoop = void (*)(const void* from, void* to, size_t count);

// The loop between two real types (bool, integer, float); null for other types.
CastLoop FindCast(TypeCode from, TypeCode to);

// Converts between any number types; false if one of them is not a number.
bool CastItems(TypeCode from, const void* in, TypeCode to, void* out, size_t count);

}  // namespace penstock
