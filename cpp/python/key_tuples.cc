// Finds equal keys, and drops those that nothing refers to any more.
#include "python/key_tuples.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "data/foreign_names.h"
#include "python/free_threads.h"

namespace penstock {
namespace {

class KeyTuples {
 public:
  PyRef Canonical(PyRef keys) {
    const Py_hash_t hash = PyObject_Hash(keys.get());
    if (hash == -1) return {};
    std::vector<PyRef> kept;  // candidates to compare; the table may change meanwhile
    uint64_t seen;
    do {
      kept.clear();
      {
        std::lock_guard lock(mutex_);
        seen = added_;
        for (auto [at, end] = tuples_.equal_range(hash); at != end; ++at) {
          kept.push_back(PyRef::Borrow(at->second.get()));
        }
      }
      for (PyRef& known : kept) {
        const int same = PyObject_RichCompareBool(known.get(), keys.get(), Py_EQ);
        if (same < 0) return {};
        if (same) return std::move(known);
      }
    } while (!Add(hash, keys, seen));
    return keys;
  }

 private:
  static constexpr size_t kFew = 512;

  // False if entries were added since `seen`: another thread may have added the same keys.
  bool Add(Py_hash_t hash, const PyRef& keys, uint64_t seen) {
    std::vector<PyRef> unused;  // destroyed after the lock: may run code of the keys
    std::lock_guard lock(mutex_);
    if (seen != added_) return false;
    tuples_.emplace(hash, PyRef::Borrow(keys.get()));
    ++added_;
    if (tuples_.size() > most_) Sweep(&unused);
    return true;
  }

  void Sweep(std::vector<PyRef>* unused) {
    for (auto at = tuples_.begin(); at != tuples_.end();) {
      if (IsUsed(at->second.get())) {
        ++at;
        continue;
      }
      unused->push_back(std::move(at->second));
      at = tuples_.erase(at);
    }
    most_ = std::max(kFew, 2 * tuples_.size());
  }

  // Keys are in use if a thread has just received them (it keeps its reference until a structure
  // refers to them), or if structures refer to them. Without a GIL the count alone is not enough:
  // it may miss a reference of a structure that is passed from thread to thread.
  static bool IsUsed(PyObject* keys) { return Py_REFCNT(keys) > 1 || KnownForeign(keys); }

  InsteadOfGil mutex_;
  std::unordered_multimap<Py_hash_t, PyRef> tuples_;
  uint64_t added_ = 0;
  size_t most_ = kFew;  // size at which the table is swept
};

}  // namespace

PyRef CanonicalKeys(PyRef keys) {
  static KeyTuples& tuples = *new KeyTuples;  // leaked: Python objects outlive this library
  return tuples.Canonical(std::move(keys));
}

}  // namespace penstock
