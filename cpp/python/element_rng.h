// What random operations inside calls of the user draw from: the key of the element.
#pragma once

#include <vector>

#include "data/random.h"
#include "python/python.h"

namespace penstock {

// Random operations inside the calls draw from the element's key.
class ScopedRandom {
 public:
  explicit ScopedRandom(StageRandom stage) : current_(CurrentElementRandom()), outer_(current_) {
    current_ = {stage, 0, 0, true};
  }
  ~ScopedRandom() { current_ = outer_; }
  void For(uint64_t element) {
    current_.element = element;
    current_.drawn = 0;
  }

 private:
  ElementRandom& current_;
  ElementRandom outer_;
};

// Generators for the calls of one function, made when there are more calls at a time than before:
// to make one costs 10 us, to give it another key some nanoseconds. All methods with the GIL.
class ElementRngs {
 public:
  struct Rng;  // belongs to its generator, which a user may keep
  struct Entry {
    Rng* rng;
    PyRef generator;
  };
  // One for the calls of one thread; goes back when it is destroyed.
  class Lease {
   public:
    // Throws an Error with the Python exception when NumPy's module cannot be used.
    explicit Lease(ElementRngs& owner) : owner_(owner), entry_(owner.Take()) {}
    ~Lease() { owner_.free_.push_back(std::move(entry_)); }
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

  std::vector<Entry> free_;
};

}  // namespace penstock
