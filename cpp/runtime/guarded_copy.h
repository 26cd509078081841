// Copies of mapped files, which may become shorter, or be on a disk that fails, at any time.
#pragma once

#include <cstddef>
#include <span>

namespace penstock {

// Whether GuardedCopy works from now on: where it does not, files must not be mapped. Elsewhere, a
// page that cannot be had ends the process by SIGBUS. The first call takes that signal, once; what
// had it before still gets what is not ours, and what takes it later keeps it.
bool CanCopyGuarded();

struct CopiedBytes {
  void* to;
  const void* from;
  size_t size;
};
// A memcpy of each; false when some of the bytes cannot be had.
bool GuardedCopy(std::span<const CopiedBytes> copies);

}  // namespace penstock
