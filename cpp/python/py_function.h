// A Function that calls Python.
#pragma once

#include "compute/function.h"
#include "data/spec.h"
#include "python/python.h"

namespace penstock {

struct CallForm {
  bool wants_rng = false;  // pass rng=, a numpy.random.Generator with the element's key
  bool awaits = false;     // it is a coroutine function
  Executor executor = Executor::kOfRun;
  int64_t timeout_ns = 0;  // for one call in a worker process; 0: no limit
};

// Keeps a reference to `callable`. `declared` (may be null): the types to convert its results to.
FunctionPtr MakePyFunction(PyRef callable, std::shared_ptr<const ElementSpec> declared,
                           CallForm form);

}  // namespace penstock
