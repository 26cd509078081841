// Finding equal keys, and forgetting those that are no longer referred to.
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
    std::vector<PyRef> kept;  // those to compare: the table may change meanwhile
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

  // False when others have come since `seen`: perhaps the same keys, by another thread.
  bool Add(Py_hash_t hash, const PyRef& keys, uint64_t seen) {
    std::vector<PyRef> unused;  // goes last: it may run code of the keys
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

  // By a thread that was just given the keys, which keeps its reference until a structure has them;
  // or by structures. A count alone is no answer without a GIL: while references of structures pass
  // from thread to thread it may miss one.
  static bool IsUsed(PyObject* keys) { return Py_REFCNT(keys) > 1 || KnownForeign(keys); }

  InsteadOfGil mutex_;
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
