// The inner loops of resizing, for each instruction set.
#include "compute/image/resize_loops.h"

#if defined(PENSTOCK_HAS_AVX)
#include <immintrin.h>
#endif

namespace penstock {
namespace {

#if defined(__GNUC__)
// Four adjacent floats at the address of any float.
using Float4 [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;
#define PENSTOCK_FLOAT4 1
#else
#define PENSTOCK_FLOAT4 0
#endif

}  // namespace
}  // namespace penstock

#define PENSTOCK_LOOPS "compute/image/resize_loops.inc"
#include "runtime/for_each_instruction_set.inc"

namespace penstock {

const ResizeLoops& ResizeLoopsOf(InstructionSet set) {
  return LoopsOf(set, baseline::kResizeLoops, avx2::kResizeLoops, avx512::kResizeLoops);
}

}  // namespace penstock
