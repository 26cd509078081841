// A scope in which a thread's unseeded random operations draw from one seed.
#pragma once

#include <optional>
#include <utility>

#include "data/random.h"

namespace penstock {

// Between Enter and Exit, called by one thread, the n-th operation uses the n-th key derived from
// the seed.
class KeyScope {
 public:
  explicit KeyScope(uint64_t seed) : seed_(seed) {}

  void Enter() {
    ElementRandom& current = CurrentElementRandom();
    outer_ = std::exchange(current.scope, seed_);
    drawn_ = std::exchange(current.drawn, 0);
  }
  void Exit() {
    ElementRandom& current = CurrentElementRandom();
    current.scope = outer_;
    current.drawn = drawn_;
  }

 private:
  const uint64_t seed_;
  std::optional<uint64_t> outer_;
  uint64_t drawn_ = 0;
};

}  // namespace penstock
