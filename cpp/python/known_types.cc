// Looking for records, and keeping what was found.
#include "python/known_types.h"

#include <algorithm>
#include <unordered_map>

#include "python/pytree.h"

namespace penstock {
namespace {

// What is known of types, by their addresses; those that are gone are forgotten now and then.
class KnownTypes {
 public:
  const bool* Find(PyTypeObject* type) const {
    auto found = known_.find(type);
    // A type that is gone has perhaps left its address to this one.
    return found != known_.end() && IsOf(found->second, type) ? &found->second.leaf : nullptr;
  }
  void Add(PyTypeObject* type, bool leaf) {
    PyRef seen = PyRef::Steal(PyWeakref_NewRef(reinterpret_cast<PyObject*>(type), nullptr));
    if (!seen) return PyErr_Clear();
    known_.insert_or_assign(type, Known{std::move(seen), leaf});
    if (known_.size() <= most_) return;
    std::erase_if(known_, [](const auto& item) { return !IsOf(item.second, item.first); });
    most_ = std::max(kFew, 2 * known_.size());
  }

 private:
  struct Known {
    PyRef seen;  // weak, of the type
    bool leaf;
  };
  static constexpr size_t kFew = 256;

  static bool IsOf(const Known& known, PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject* object = nullptr;
    PyWeakref_GetRef(known.seen.get(), &object);
    Py_XDECREF(object);
#else
    PyObject* object = PyWeakref_GetObject(known.seen.get());
#endif
    return object == reinterpret_cast<PyObject*>(type);
  }

  std::unordered_map<PyTypeObject*, Known> known_;
  size_t most_ = kFew;  // then they are looked through
};

}  // namespace

bool IsLeafOfType(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  static KnownTypes& known = *new KnownTypes;
  if (const bool* leaf = known.Find(type)) return *leaf;
  Flattened flat;
  if (!Flatten(object, &flat)) {
    PyErr_Clear();
    return false;
  }
  bool leaf = flat.structure == Structure::Leaf();
  known.Add(type, leaf);
  return leaf;
}

}  // namespace penstock
