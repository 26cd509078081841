// NumPy's table of functions, shared by all files of this folder.
#define PENSTOCK_IMPORT_ARRAY
#include "python/python.h"

namespace penstock {

bool ImportNumPy() { return _import_array() >= 0; }

}  // namespace penstock
