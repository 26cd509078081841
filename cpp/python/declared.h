// Values as a signature declares them.
#pragma once

#include "data/spec.h"
#include "python/python.h"
#include "python/types.h"

namespace penstock {

// A value as a tensor of the declared dtype and a shape that is declared; false, with a TypeError
// set that names `stage` and shows the value, when it cannot be one.
bool ToDeclared(const char* stage, PyObject* value, const LeafSpec& spec, Sharing sharing,
                Tensor* tensor);

}  // namespace penstock
