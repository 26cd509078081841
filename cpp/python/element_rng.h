// A numpy.random.Generator that draws from the key of an element.
#pragma once

#include <vector>

#include "pipeline/random.h"
#include "python/python.h"

namespace penstock {

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
    // Makes the generator begin anew, at the numbers of this key.
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
