// Instruction sets for which some loops are compiled, and the one that this process uses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/platform.h"

// Other compilers and CPUs have only the first set; on ARM it includes NEON.
#if defined(PENSTOCK_GNU) && defined(__x86_64__)
#define PENSTOCK_HAS_AVX 1
#endif

namespace penstock {

// In ascending order: a CPU that supports one of them supports the previous ones.
enum class InstructionSet : uint8_t {
  kBaseline,  // the compiler's default: SSE2 on x86-64
  kAvx2,      // and BMI1, BMI2, POPCNT
  kAvx512     // F, BW, CD, DQ and VL: supported by all server CPUs with AVX-512
};

const char* NameOf(InstructionSet set);

// The sets that this build has loops for and this CPU supports.
std::vector<InstructionSet> AvailableInstructionSets();

// The last available set, or the one called `name` (environment variable PENSTOCK_CPU), if it is
// not empty. Throws std::invalid_argument if the name is unknown or the set is not available.
InstructionSet InstructionSetNamed(const std::string& name);

// InstructionSetNamed(PENSTOCK_CPU) at the first call, or the value set since.
InstructionSet ChosenInstructionSet();
// For tests, which compare sets within one process: code that starts later uses this set.
void SetInstructionSet(InstructionSet set);

// Selects the table of loops; runtime/for_each_instruction_set.inc generates them.
template <typename Loops>
const Loops& LoopsOf(InstructionSet set, const Loops& baseline, const Loops& avx2,
                     const Loops& avx512) {
  switch (set) {
    case InstructionSet::kAvx2:
      return avx2;
    case InstructionSet::kAvx512:
      return avx512;
    default:
      return baseline;
  }
}

}  // namespace penstock
