// Finding equal keys, and forgetting those that are no longer referred to.
#include "python/key_tuples.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace penstock {
namespace {

class KeyTuples {
 public:
  PyRef Canonical(PyRef keys) {
    const Py_hash_t hash = PyObject_Hash(keys.get());
    if (hash == -1) return {};
    for (bool more = true; more;) {
      const uint64_t added = added_;
      std::vector<PyRef> alike;  // kept: the table may change while they are compared
      for (auto [at, end] = tuples_.equal_range(hash); at != end; ++at) {
        alike.push_back(PyRef::Borrow(at->second.get()));
      }
      for (PyRef& known : alike) {
        const int same = PyObject_RichCompareBool(known.get(), keys.get(), Py_EQ);
        if (same < 0) return {};
        if (same) return std::move(known);
      }
      more = added != added_;  // perhaps the same keys, by another thread
    }
    tuples_.emplace(hash, PyRef::Borrow(keys.get()));
    ++added_;
    if (tuples_.size() > most_) Sweep();
    return keys;
  }

 private:
  static constexpr size_t kFew = 512;

  void Sweep() {
    std::vector<PyRef> unused;  // goes last: it may run code of the keys
    for (auto at = tuples_.begin(); at != tuples_.end();) {
      if (Py_REFCNT(at->second.get()) > 1) {
        ++at;
        continue;
      }
      unused.push_back(std::move(at->second));
      at = tuples_.erase(at);
    }
    most_ = std::max(kFew, 2 * tuples_.size());
  }

  std::unordered_multimap<Py_hash_t, PyRef> tuples_;
  uint64_t added_ = 0;
  size_t most_ = kFew;  // then they are swept
};

}  // namespace

PyRef CanonicalKeys(PyRef keys) {
  static KeyTuples& tuples = *new KeyTuples;  // leaked: objects of Python outlive this library
  return tuples.Canonical(std::move(keys));
}

}  // namespace penstock
