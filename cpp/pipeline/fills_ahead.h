// What repeat asks of a stage with a buffer, so that it need not stand empty between two epochs.
#pragma once

#include <optional>

#include "element/error.h"

namespace penstock {

// An iterator that fills a buffer before it gives its first element. While that of one epoch is
// drained, that of the next is filled, a step at a time: no epoch begins with a long wait. What it
// gives, and what it saves, is the same.
class FillsAhead {
 public:
  virtual ~FillsAhead() = default;
  // Its input has ended, and something is left in the buffer. The input is then gone, so that
  // another one may be started.
  virtual bool Draining() = 0;
  // Before the first element: takes one more step of the input, if there is room. An error keeps
  // its place; only a transient one is returned.
  virtual std::optional<Error> FillOne() = 0;
};

}  // namespace penstock
