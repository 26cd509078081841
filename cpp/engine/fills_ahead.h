// The interface that lets repeat fill a stage's buffer early, so that it is not empty at the start
// of an epoch.
#pragma once

#include <cstdint>
#include <optional>

#include "data/error.h"

namespace penstock {

// An iterator that fills a buffer before it delivers its first element. While the buffer of one
// epoch drains, that of the next is filled step by step, so that no epoch begins with a long wait.
// Elements and states are the same as without it.
class FillsAhead {
 public:
  virtual ~FillsAhead() = default;
  // The number of elements left in the buffer after the input has ended; 0 before that. If it is
  // positive, the input has been destroyed, so the next one may be started.
  virtual int64_t Draining() = 0;
  // Call before the first element: pulls `steps` steps of the input, or as many as fit. Errors keep
  // their positions; only a transient one is returned.
  virtual std::optional<Error> FillAhead(int64_t steps) = 0;
};

}  // namespace penstock
