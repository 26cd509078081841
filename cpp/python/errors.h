// Converts errors to Python exceptions and back.
#pragma once

#include "data/error.h"
#include "python/python.h"

namespace penstock {

// Converts the raised Python exception to an Error and clears it. Needs the GIL.
Error CurrentPythonError();
// The same for an exception that left a user function. StopIteration and GeneratorExit become the
// cause of a RuntimeError (PEP 479), so that they can never silently end the data.
Error CurrentUserError();
// Raises the matching Python exception. Needs the GIL.
void RaisePython(const Error& error);

}  // namespace penstock
