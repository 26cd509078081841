// Interns tuples of dict keys, so that structures can compare them by address.
#pragma once

#include "python/python.h"

namespace penstock {

// The interned tuple for these keys, which may be `keys` itself; null with a Python error set.
// Drops tuples without other references whenever their number has doubled. Needs the GIL, which may
// be released while keys of user-defined classes are hashed and compared.
PyRef CanonicalKeys(PyRef keys);

}  // namespace penstock
