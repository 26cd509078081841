// Values as a signature declares them.
#pragma once

#include "data/spec.h"
#include "python/python.h"
#include "python/types.h"

namespace penstock {

// Converts a value to a tensor of the declared dtype, whose shape must fit the declared one; false,
// with a TypeError set that names `stage` and shows the value, when that cannot be done.
bool ToDeclared(const char* stage, PyObject* value, const LeafSpec& spec, Sharing sharing,
                Tensor* tensor);

}  // namespace penstock
