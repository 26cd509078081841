// A Function that calls Python.
#pragma once

#include "compute/function.h"
#include "data/spec.h"
#include "python/python.h"

namespace penstock {

struct CallForm {
  bool wants_rng = false;  // it is given a numpy.random.Generator as the keyword argument rng,
                           // which draws from the key of the element
  bool awaits = false;     // it is a coroutine function
  Executor executor = Executor::kOfRun;
  int64_t timeout_ns = 0;  // of a call in a worker process; 0: any time
};

// `callable` is kept; `declared` (may be null) is what its results are converted to.
FunctionPtr MakePyFunction(PyRef callable, std::shared_ptr<const ElementSpec> declared,
                           CallForm form);

}  // namespace penstock
