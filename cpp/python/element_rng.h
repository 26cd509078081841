// Random operations inside calls of the user's functions draw from the key of the element.
#pragma once

#include <mutex>
#include <vector>

#include "data/random.h"
#include "python/free_threads.h"
#include "python/python.h"

namespace penstock {

// Random operations inside the calls draw from the element's key.
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

// Generators for the calls of one function. One is made when more calls run at a time than before,
// because making it costs 10 us, giving it another key some nanoseconds. All methods are called
// attached.
class ElementRngs {
 public:
  struct Rng;  // belongs to its generator, which a user may keep
  struct Entry {
    Rng* rng;
    PyRef generator;
  };
  // A generator for the calls of one thread; it is given back when the lease is destroyed.
  class Lease {
   public:
    // Throws an Error with the Python exception when NumPy's module cannot be used.
    explicit Lease(ElementRngs& owner) : owner_(owner), entry_(owner.Take()) {}
    ~Lease() {
      std::lock_guard lock(owner_.mutex_);
      owner_.free_.push_back(std::move(entry_));
    }
    Lease(const Lease&) = delete;
    // Makes the generator begin again, at the numbers of this key.
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
