// Sets of instructions that some loops are compiled for, and which of them this process uses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/platform.h"

// Other compilers and processors have the first set only: on ARM it has NEON in it.
#if defined(PENSTOCK_GNU) && defined(__x86_64__)
#define PENSTOCK_HAS_AVX 1
#endif

namespace penstock {

// From the oldest on: a processor that runs one of them runs those before it.
enum class InstructionSet : uint8_t {
  kBaseline,  // what the compiler may use everywhere: SSE2 on x86-64
  kAvx2,      // and BMI1, BMI2, POPCNT
  kAvx512     // F, BW, CD, DQ and VL: what all processors for servers have of it
};

const char* NameOf(InstructionSet set);

// Those that this build has loops for and this processor runs.
std::vector<InstructionSet> AvailableInstructionSets();

// The last of them, or the one that the environment variable PENSTOCK_CPU names (`name`, if it is
// not empty). A std::invalid_argument for a name that there is not, or not here.
InstructionSet InstructionSetNamed(const std::string& name);

// InstructionSetNamed(PENSTOCK_CPU) as of the first call, or what was set since.
InstructionSet ChosenInstructionSet();
// For tests, which compare them within one process: what begins from now on uses that one.
void SetInstructionSet(InstructionSet set);

// One table of loops of those that runtime/for_each_instruction_set.inc makes.
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
