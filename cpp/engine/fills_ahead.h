// The interface by which repeat fills a stage's buffer early, so that it is not empty between two
// epochs.
#pragma once

#include <cstdint>
#include <optional>

#include "data/error.h"

namespace penstock {

// An iterator that fills a buffer before it gives its first element. While the buffer of one epoch
// is drained, that of the next is filled step by step, so that no epoch begins with a long wait.
// Its elements and its states are the same as without that.
class FillsAhead {
 public:
  virtual ~FillsAhead() = default;
  // How many elements are left in the buffer now that the input has ended; 0 before. When there are
  // some the input is gone, so that another one may be started.
  virtual int64_t Draining() = 0;
  // Before the first element: takes `steps` steps of the input, or as many as there is room for. An
  // error keeps its position; only a transient one is returned.
  virtual std::optional<Error> FillAhead(int64_t steps) = 0;
};

}  // namespace penstock
