// A loop for each pair of real types, for each instruction set.
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "compute/cast_items.h"
#include "compute/real_types.h"
#include "runtime/instruction_set.h"

#define PENSTOCK_LOOPS "compute/cast_loops.inc"
#include "runtime/for_each_instruction_set.inc"

namespace penstock {

CastLoop FindCast(TypeCode from, TypeCode to) {
  const auto find =
      LoopsOf(ChosenInstructionSet(), &baseline::FindLoop, &avx2::FindLoop, &avx512::FindLoop);
  const CastLoop loop = find(from, to);
  return loop ? loop : baseline::FindLoop(from, to);
}

}  // namespace penstock
