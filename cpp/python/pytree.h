// Nested Python values to structures and leaves, and back.
#pragma once

#include <string>
#include <vector>

#include "data/structure.h"
#include "python/python.h"

namespace penstock {

// The keys or the class of a structure that another process has written; as
// ForeignRuntime::FindForm.
ForeignRef FindPythonForm(Structure::Kind kind, const std::string& name,
                          const std::vector<std::string>& fields);

// tuple, namedtuple, dict, dataclass, attrs class and None nest; a list does not: it is one array.
struct Flattened {
  StructureRef structure;
  std::vector<PyObject*> leaves;  // borrowed from the value
  std::vector<PyRef> kept;        // attribute values that had to be fetched
  bool exclusive = true;          // every container on the way is referred to by its parent alone

  // For what a container has: without a GIL another thread may take it out at any time, if it can
  // get at the container.
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

// Flattens `object`. With `like` it must have that structure down to its leaves (whatever nests
// below a leaf of `like` belongs to the leaf); returns false without a Python error when it has
// not.
bool Flatten(PyObject* object, Flattened* out);
bool FlattenLike(const Structure* like, PyObject* object, Flattened* out);

// The nested value; steals the references in `leaves`. New reference, null with an error set.
PyObject* Unflatten(const Structure* structure, PyObject** leaves);

}  // namespace penstock
