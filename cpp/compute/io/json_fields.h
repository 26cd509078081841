// A Function from lines of JSON to their fields.
#pragma once

#include <optional>
#include <vector>

#include "compute/function.h"

namespace penstock {

// `spec`: nested dicts of numbers, bools, strings, and lists of them; the first axis of a leaf may
// have any size. `defaults`: for each leaf, the value for null and for a missing field; nullopt
// makes both an error. Throws an Error for a spec with other leaves.
FunctionPtr MakeJsonFields(ElementSpec spec, std::vector<std::optional<Tensor>> defaults);

}  // namespace penstock
