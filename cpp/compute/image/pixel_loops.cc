// Loops over the pixels of images, for each instruction set.
#include "compute/image/pixel_loops.h"

#include <cstring>

#if defined(PENSTOCK_HAS_AVX)
#include <immintrin.h>
#endif

#define PENSTOCK_LOOPS "compute/image/pixel_loops.inc"
#include "runtime/for_each_instruction_set.inc"

namespace penstock {

const PixelLoops& PixelLoopsOf(InstructionSet set) {
  return LoopsOf(set, baseline::kPixelLoops, avx2::kPixelLoops, avx512::kPixelLoops);
}

}  // namespace penstock
