// Detects record types, and caches the result.
#include "python/known_types.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "python/free_threads.h"
#include "python/pytree.h"

namespace penstock {
namespace {

// Cached facts about types, by address. Entries of types that no longer exist are dropped
// occasionally.
class KnownTypes {
 public:
  std::optional<bool> Find(PyTypeObject* type) {
    PyRef of;  // released after the lock, like all references here
    std::lock_guard lock(mutex_);
    auto found = known_.find(type);
    // A type that no longer exists may have had the same address.
    if (found == known_.end() || !IsOf(found->second, type, &of)) return std::nullopt;
    return found->second.leaf;
  }
  void Add(PyTypeObject* type, bool leaf) {
    PyRef seen = PyRef::Steal(PyWeakref_NewRef(reinterpret_cast<PyObject*>(type), nullptr));
    if (!seen) return PyErr_Clear();
    std::vector<PyRef> dropped;
    std::lock_guard lock(mutex_);
    Known& known = known_[type];
    std::swap(known.seen, seen);
    known.leaf = leaf;
    if (known_.size() <= most_) return;
    for (auto at = known_.begin(); at != known_.end();) {
      if (IsOf(at->second, at->first, &dropped.emplace_back())) {
        ++at;
        continue;
      }
      dropped.push_back(std::move(at->second.seen));
      at = known_.erase(at);
    }
    most_ = std::max(kFew, 2 * known_.size());
  }

 private:
  struct Known {
    PyRef seen;  // weak reference to the type
    bool leaf = false;
  };
  static constexpr size_t kFew = 256;

  // Stores in `held` a reference to the entry's type, which may be the last one.
  static bool IsOf(const Known& known, PyTypeObject* type, PyRef* held) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject* object = nullptr;
    PyWeakref_GetRef(known.seen.get(), &object);
    *held = PyRef::Steal(object);
#else
    PyObject* object = PyWeakref_GetObject(known.seen.get());
    (void)held;
#endif
    return object == reinterpret_cast<PyObject*>(type);
  }

  InsteadOfGil mutex_;
  std::unordered_map<PyTypeObject*, Known> known_;
  size_t most_ = kFew;  // size at which the table is swept
};

}  // namespace

bool IsLeafOfType(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  static KnownTypes& known = *new KnownTypes;
  if (const std::optional<bool> leaf = known.Find(type)) return *leaf;
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
