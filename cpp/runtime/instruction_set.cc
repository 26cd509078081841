// The instruction sets that the CPU supports and the user allows.
#include "runtime/instruction_set.h"

#include <atomic>
#include <cstdlib>
#include <stdexcept>

namespace penstock {
namespace {

constexpr InstructionSet kInstructionSets[] = {InstructionSet::kBaseline, InstructionSet::kAvx2,
                                               InstructionSet::kAvx512};

bool IsAvailable(InstructionSet set) {
#if defined(PENSTOCK_HAS_AVX)
  // The compiler's functions also check that the system saves the wider registers.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  if (set == InstructionSet::kAvx2) return avx2;
  if (set == InstructionSet::kAvx512) {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  }
#endif
  return set == InstructionSet::kBaseline;
}

template <typename Sets>
std::string NamesOf(const Sets& sets) {
  std::string names;
  for (InstructionSet set : sets) names += (names.empty() ? "" : ", ") + std::string(NameOf(set));
  return names;
}

std::atomic<InstructionSet>& Chosen() {
  static std::atomic<InstructionSet> chosen = [] {
    const char* name = std::getenv("PENSTOCK_CPU");
    return InstructionSetNamed(name ? name : "");
  }();
  return chosen;
}

}  // namespace

const char* NameOf(InstructionSet set) {
  switch (set) {
    case InstructionSet::kAvx2:
      return "avx2";
    case InstructionSet::kAvx512:
      return "avx512";
    default:
      return "baseline";
  }
}

std::vector<InstructionSet> AvailableInstructionSets() {
  std::vector<InstructionSet> sets;
  for (InstructionSet set : kInstructionSets) {
    if (IsAvailable(set)) sets.push_back(set);
  }
  return sets;
}

InstructionSet InstructionSetNamed(const std::string& name) {
  const std::vector<InstructionSet> available = AvailableInstructionSets();
  if (name.empty()) return available.back();
  for (InstructionSet set : kInstructionSets) {
    if (name != NameOf(set)) continue;
    if (IsAvailable(set)) return set;
    throw std::invalid_argument(
        "PENSTOCK_CPU: instructions that this build has and this processor runs were expected (" +
        NamesOf(available) + "), got '" + name + "'; unset it to take the best of them");
  }
  throw std::invalid_argument("PENSTOCK_CPU: one of " + NamesOf(kInstructionSets) +
                              " was expected, got '" + name +
                              "'; unset it to take the best that this processor runs");
}

InstructionSet ChosenInstructionSet() {
  // relaxed: an independent value.
  return Chosen().load(std::memory_order_relaxed);
}

void SetInstructionSet(InstructionSet set) { Chosen().store(set, std::memory_order_relaxed); }

}  // namespace penstock
