// NumPy's table of functions, which all files here share.
#define PENSTOCK_IMPORT_ARRAY
#include "python/python.h"

namespace penstock {

bool ImportNumPy() { return _import_array() >= 0; }

}  // namespace penstock
