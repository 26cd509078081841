// Converts nested Python values to structures and leaves, and back.
#pragma once

#include <string>
#include <vector>

#include "data/structure.h"
#include "python/python.h"

namespace penstock {

// The keys or the class of a structure that another process has written; see
// ForeignRuntime::FindForm.
ForeignRef FindPythonForm(Structure::Kind kind, const std::string& name,
                          const std::vector<std::string>& fields);

// tuple, namedtuple, dict, dataclass, attrs class and None nest; a list does not: it is one array.
struct Flattened {
  StructureRef structure;
  std::vector<PyObject*> leaves;  // borrowed from the value
  std::vector<PyRef> kept;        // attribute values that had to be fetched
  bool exclusive = true;          // each container on the way is referenced only by its parent

  // Keeps an item of a container: without a GIL, any thread that can reach the container may remove
  // the item at any time.
  void KeepIfShared(PyObject* value) {
#if defined(Py_GIL_DISABLED)
    if (!exclusive) kept.push_back(PyRef::Borrow(value));
#else
    (void)value;
#endif
  }
};

// Called once at import.
void InitPytree();

// Flattens `object`. FlattenLike requires the structure of `like` down to its leaves; whatever
// nests below a leaf of `like` belongs to that leaf. If the structure differs, it returns false
// without a Python error.
bool Flatten(PyObject* object, Flattened* out);
bool FlattenLike(const Structure* like, PyObject* object, Flattened* out);

// Builds the nested value and steals the references in `leaves`. New reference; null with an error
// set.
PyObject* Unflatten(const Structure* structure, PyObject** leaves);

}  // namespace penstock
