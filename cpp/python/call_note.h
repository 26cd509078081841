// Notes that explain to users why a call of their function failed, where the exception does not.
#pragma once

#include <cstddef>
#include <string>

#include "data/error.h"
#include "python/python.h"

namespace penstock {

// The note for a failed call of `function` with `count` arguments, and with `rng` if that is set.
// Empty unless the error is a TypeError because the function takes other arguments, or comes from
// writing to a read-only array. Needs the GIL.
std::string CallNote(const Error& error, PyObject* function, const char* stage, size_t count,
                     bool rng);

}  // namespace penstock
