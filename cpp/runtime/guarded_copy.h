// Copies from mapped files, which may be truncated, or be on a failing disk, at any time.
#pragma once

#include <cstddef>
#include <span>

namespace penstock {

// Whether GuardedCopy works from now on; if not, files must not be mapped. Outside of GuardedCopy,
// an access to an unavailable page ends the process with SIGBUS. The first call installs a SIGBUS
// handler, once. The previous handler still gets signals that are not ours; a handler installed
// later is kept.
bool CanCopyGuarded();

struct CopiedBytes {
  void* to;
  const void* from;
  size_t size;
};
// A memcpy for each; returns false if some of the bytes are unavailable.
bool GuardedCopy(std::span<const CopiedBytes> copies);

}  // namespace penstock
