// Errors on their way to Python and back.
#pragma once

#include "data/error.h"
#include "python/python.h"

namespace penstock {

// The raised Python exception as an Error (clears it); with the GIL.
Error CurrentPythonError();
// The same for an exception that left a user's function: StopIteration and GeneratorExit become a
// RuntimeError caused by it (PEP 479), so that they can never end the data silently.
Error CurrentUserError();
// Raises it as the matching Python exception; with the GIL.
void RaisePython(const Error& error);

}  // namespace penstock
