// A note for users on why a call of their function failed, where its exception does not say.
#pragma once

#include <cstddef>
#include <string>

#include "data/error.h"
#include "python/python.h"

namespace penstock {

// With the GIL: the note for a failed call of `function` with `count` arguments, and with `rng`. It
// is "" unless the error is a TypeError because the function takes other arguments, or comes from
// an array that must not be changed.
std::string CallNote(const Error& error, PyObject* function, const char* stage, size_t count,
                     bool rng);

}  // namespace penstock
