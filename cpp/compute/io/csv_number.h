// Numbers written in text.
#pragma once

#include <string_view>

#include "data/dtype.h"

namespace penstock {

// Writes the number to `out`, an item of int32, int64, float32 or float64; false when the text is
// not a number, or an integer that the type cannot hold. Spaces around it and a sign are accepted.
bool ReadCsvNumber(std::string_view text, TypeCode code, void* out);

}  // namespace penstock
