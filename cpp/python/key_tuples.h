// One tuple for each sequence of dict keys: structures compare by its address.
#pragma once

#include "python/python.h"

namespace penstock {

// The tuple for these keys, perhaps itself; null with a Python error set. Tuples without other
// references are dropped whenever their number has doubled. With the GIL, which keys of the user's
// classes may give up where they are hashed and compared.
PyRef CanonicalKeys(PyRef keys);

}  // namespace penstock
