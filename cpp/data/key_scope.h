// A scope in which the random operations of a thread draw from one seed.
#pragma once

#include "data/random.h"

namespace penstock {

// Between Enter and Exit, which are called by one thread: the n-th operation has the n-th key that
// follows from the seed.
class KeyScope {
 public:
  explicit KeyScope(uint64_t seed) : seed_(seed) {}

  void Enter() {
    outer_ = CurrentElementRandom();
    CurrentElementRandom() = {{seed_, {}}, 0, 0, true};
  }
  void Exit() { CurrentElementRandom() = outer_; }

 private:
  const uint64_t seed_;
  ElementRandom outer_;
};

}  // namespace penstock
