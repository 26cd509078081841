// Where keys come from when no seed is given.
#include "data/random.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <random>

#include "runtime/fork.h"

namespace penstock {
namespace {

struct GlobalSeed {
  std::mutex mutex;
  std::optional<uint64_t> seed;
  uint64_t operations = 0;
  uint64_t sessions = 0;
};

GlobalSeed& TheSeed() {
  static GlobalSeed& seed = *[] {
    auto* made = new GlobalSeed;
    HoldAcrossFork(made->mutex);
    return made;
  }();
  return seed;
}

uint64_t Entropy() {
  static std::random_device& device = *new std::random_device;  // under the mutex
  return device() | uint64_t{device()} << 32;
}

}  // namespace

ElementRandom& CurrentElementRandom() {
  static thread_local ElementRandom current;
  return current;
}

RandomKey NextOperationKey(std::optional<uint64_t> seed) {
  ElementRandom& current = CurrentElementRandom();
  if (current.active) {
    StageRandom stage = current.stage;
    if (seed) stage.seed = *seed;
    return stage.Key().Fold(current.element).Fold(current.drawn++);
  }
  if (seed) return RandomKey{*seed};
  GlobalSeed& global = TheSeed();
  std::lock_guard lock(global.mutex);
  if (global.seed) return RandomKey{*global.seed}.Fold(2 * global.operations++);
  static uint64_t base = Entropy();
  return RandomKey{base}.Fold(global.operations++);
}

void SetGlobalSeed(uint64_t seed) {
  GlobalSeed& global = TheSeed();
  std::lock_guard lock(global.mutex);
  global.seed = seed;
  global.operations = global.sessions = 0;
}

void ClearGlobalSeed() {
  GlobalSeed& global = TheSeed();
  std::lock_guard lock(global.mutex);
  global.seed.reset();
}

uint64_t NextSessionSeed() {
  GlobalSeed& global = TheSeed();
  std::lock_guard lock(global.mutex);
  if (global.seed) return RandomKey{*global.seed}.Fold(2 * global.sessions++ + 1).value;
  return Entropy();
}

}  // namespace penstock
