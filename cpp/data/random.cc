// The source of keys if no seed is set.
#include "data/random.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <random>

#include "data/state_visitor.h"
#include "runtime/fork.h"

namespace penstock {
namespace {

class GlobalSeeds {
 public:
  // Calls `use` with the sequence. Without set_seed, the sequence starts at the first use, and
  // again in a fork child, which would otherwise draw the same numbers as its parent.
  template <typename Use>
  auto With(Use use) {
    std::lock_guard lock(mutex_);
    if (!begun_ || (!seeds_.given && generation_ != ForkGeneration())) Begin({Entropy()});
    return use(seeds_);
  }
  void Set(const SeedSequence& seeds) {
    std::lock_guard lock(mutex_);
    Begin(seeds);
  }
  void Clear() {
    std::lock_guard lock(mutex_);
    begun_ = false;
  }

  static GlobalSeeds& Get() {
    static GlobalSeeds& seeds = *[] {
      auto* made = new GlobalSeeds;
      HoldAcrossFork(made->mutex_);
      return made;
    }();
    return seeds;
  }

 private:
  void Begin(const SeedSequence& seeds) {
    seeds_ = seeds;
    generation_ = ForkGeneration();
    begun_ = true;
  }
  static uint64_t Entropy() {
    static std::random_device& device = *new std::random_device;  // under the mutex
    return device() | uint64_t{device()} << 32;
  }

  std::mutex mutex_;  // a leaf lock; protects the following
  SeedSequence seeds_;
  bool begun_ = false;
  uint64_t generation_ = 0;  // of the process that started the sequence
};

}  // namespace

ElementRandom& CurrentElementRandom() {
  static thread_local ElementRandom current;
  return current;
}

RandomKey NextOperationKey(std::optional<uint64_t> seed) {
  ElementRandom& current = CurrentElementRandom();
  if (seed)
    return current.active ? current.stage.Key(seed).Fold(current.element) : RandomKey{*seed};
  if (current.scope) return RandomKey{*current.scope}.Fold(current.drawn++);
  if (current.active) return current.stage.Key().Fold(current.element).Fold(current.drawn++);
  return GlobalSeeds::Get().With(
      [](SeedSequence& seeds) { return RandomKey{seeds.seed}.Fold(2 * seeds.operations++); });
}

uint64_t NextSessionSeed() {
  ElementRandom& current = CurrentElementRandom();
  if (current.active) {
    // Counts down, so it never collides with the numbers of the element's operations.
    return current.stage.Key().Fold(current.element).Fold(~current.made++).value;
  }
  return GlobalSeeds::Get().With([](SeedSequence& seeds) {
    return RandomKey{seeds.seed}.Fold(2 * seeds.sessions++ + 1).value;
  });
}

void SeedSequence::Visit(StateVisitor& visitor) {
  visitor.UInt(seed);
  visitor.Bool(given);
  visitor.UInt(operations);
  visitor.UInt(sessions);
}

SeedSequence CurrentSeeds() {
  return GlobalSeeds::Get().With([](SeedSequence& seeds) { return seeds; });
}

void ContinueSeeds(const SeedSequence& seeds) { GlobalSeeds::Get().Set(seeds); }

void SetGlobalSeed(uint64_t seed) { GlobalSeeds::Get().Set({seed, true}); }

void ClearGlobalSeed() { GlobalSeeds::Get().Clear(); }

}  // namespace penstock
