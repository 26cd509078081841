// Parses numbers.
#pragma once

#include <string_view>

#include "data/dtype.h"

namespace penstock {

// Writes the number to `out`, an item of int32, int64, float32 or float64. False if the text is not
// a number, or an integer that does not fit into the type. Accepts surrounding spaces and a sign.
bool ReadCsvNumber(std::string_view text, TypeCode code, void* out);

}  // namespace penstock
