// Random operations inside user functions draw from the key of the current element.
#pragma once

#include <mutex>
#include <vector>

#include "data/random.h"
#include "python/free_threads.h"
#include "python/python.h"

namespace penstock {

// While it exists, random operations in this thread draw from the element's key.
class ScopedRandom {
 public:
  explicit ScopedRandom(StageRandom stage) : current_(CurrentElementRandom()), outer_(current_) {
    current_ = {.stage = stage, .active = true};
  }
  ~ScopedRandom() { current_ = outer_; }
  void For(uint64_t element) {
    current_.element = element;
    current_.drawn = current_.made = 0;
  }

 private:
  ElementRandom& current_;
  ElementRandom outer_;
};

// Random generators for the calls of one function. A new one is made only when more calls run
// concurrently than before: that costs 10 us, while giving a generator another key takes
// nanoseconds. All methods are called attached.
class ElementRngs {
 public:
  struct Rng;  // owned by its generator, which user code may keep
  struct Entry {
    Rng* rng;
    PyRef generator;
  };
  // A generator for the calls of one thread, returned to the pool when the lease is destroyed.
  class Lease {
   public:
    // Throws an Error with the Python exception if NumPy's random module cannot be used.
    explicit Lease(ElementRngs& owner) : owner_(owner), entry_(owner.Take()) {}
    ~Lease() {
      std::lock_guard lock(owner_.mutex_);
      owner_.free_.push_back(std::move(entry_));
    }
    Lease(const Lease&) = delete;
    // Restarts the generator at the beginning of this key's sequence.
    void Key(RandomKey key);
    PyObject* generator() const { return entry_.generator.get(); }

   private:
    ElementRngs& owner_;
    Entry entry_;
  };

 private:
  Entry Take();

  InsteadOfGil mutex_;
  std::vector<Entry> free_;
};

}  // namespace penstock
