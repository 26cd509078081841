// A Function that calls Python.
#pragma once

#include "compute/function.h"
#include "data/spec.h"
#include "python/python.h"

namespace penstock {

// `callable` is kept; `declared` (may be null) is what its results are converted to. With
// `wants_rng` it is given a numpy.random.Generator as the keyword argument rng, which draws from
// the key of the element.
FunctionPtr MakePyFunction(PyRef callable, std::shared_ptr<const ElementSpec> declared,
                           bool wants_rng);

}  // namespace penstock
