// Conversion of values to the types that a signature declares.
#pragma once

#include "data/spec.h"
#include "python/python.h"
#include "python/types.h"

namespace penstock {

// Converts a value to a tensor of the declared dtype and checks its shape. On failure returns false
// and sets a TypeError that names `stage` and shows the value.
bool ToDeclared(const char* stage, PyObject* value, const LeafSpec& spec, Sharing sharing,
                Tensor* tensor);

}  // namespace penstock
