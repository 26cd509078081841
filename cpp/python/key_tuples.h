// One tuple for each sequence of dict keys: structures compare by its address.
#pragma once

#include "python/python.h"

namespace penstock {

// The tuple for these keys, perhaps itself; null with a Python error set. Tuples that nobody has
// are let go of when there have come to be twice as many. With the GIL, which keys of classes of
// the user's may give up where they are hashed and compared.
PyRef CanonicalKeys(PyRef keys);

}  // namespace penstock
