// Reports out of memory without needing memory.
#include "engine/out_of_memory.h"

#include <new>

namespace penstock {

Error OutOfMemory(std::string_view stage) noexcept {
  try {
    return Error(ErrorKind::kCancelled,
                 "{}: out of memory; this iterator cannot go on: make a new one, and give it a "
                 "state that was saved before",
                 stage);
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::kCancelled, "out of memory");  // short enough to need no allocation
  }
}

bool EndsRun(const Error& error) {
  return error.kind() == ErrorKind::kCancelled && !error.message().empty();
}

}  // namespace penstock
