// Counter-based randomness: a key is folded from (seed, stage, epoch, element) or, with an explicit
// seed, from (seed, epoch, element). A draw is a pure function of key and counter, so no thread has
// a generator, and the order of work does not matter.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace penstock {

class StateVisitor;

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
inline std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter, uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t{0xD2511F53} * counter[0];
    uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

struct RandomKey {
  uint64_t value = 0;

  // Derives another key, practically independent of this one for each `data` (the mixer of
  // SplitMix64).
  RandomKey Fold(uint64_t data) const {
    uint64_t x = value + 0x9E3779B97F4A7C15 * (data + 1);
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return {x ^ (x >> 31)};
  }

  // 64 uniform bits: draw number `counter`.
  uint64_t Draw(uint64_t counter) const {
    auto out = Philox({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0},
                      static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32));
    return out[0] | uint64_t{out[1]} << 32;
  }
  // An integer in [0, bound): multiply-shift; the bias is below bound / 2^64.
  uint64_t DrawBelow(uint64_t counter, uint64_t bound) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Draw(counter)) * bound) >> 64);
  }
  // A double in [0, 1) with 53 random bits.
  double DrawUnit(uint64_t counter) const {
    return static_cast<double>(Draw(counter) >> 11) * 0x1.0p-53;
  }
};

// The identity of child number i of an element (flat_map, interleave, unbatch).
inline uint64_t ChildKey(uint64_t parent, uint64_t i) { return RandomKey{parent}.Fold(i).value; }

// The inputs to a stage's random keys.
struct StageRandom {
  uint64_t seed = 0;  // of the run
  RandomKey place;    // the stage in the plan, and its path
  RandomKey path;     // the epoch, and the elements whose datasets contain the stage

  // Keys derive from `path` and the explicit seed, or, without one, from `place` and the seed of
  // the run.
  RandomKey Key(std::optional<uint64_t> explicit_seed = std::nullopt) const {
    if (explicit_seed) return RandomKey{*explicit_seed}.Fold(path.value);
    return RandomKey{seed}.Fold(place.value);
  }
};

// The source of random operations inside a user's function; set for the thread before each call.
struct ElementRandom {
  StageRandom stage;
  uint64_t element = 0;  // folded into the stage's key only when something is drawn
  uint64_t drawn = 0;    // keys used by operations without a seed for this element
  uint64_t made = 0;     // seeds used by runs and shuffles for this element
  bool active = false;
  std::optional<uint64_t> scope = std::nullopt;  // the seed of the current KeyScope
};
ElementRandom& CurrentElementRandom();

// Returns the key of a random operation. With a `seed`, it depends on the seed, the epoch and the
// element being mapped, so operations with equal seeds draw the same numbers. Outside of pipelines
// they draw the same numbers each time. Without a seed, every call returns a different key: from a
// KeyScope, else from the element, else from the global seed.
RandomKey NextOperationKey(std::optional<uint64_t> seed = std::nullopt);
// Returns the seed of a run or an unseeded shuffle: from the element being mapped, else the next
// one of the global sequence.
uint64_t NextSessionSeed();

// The sequence of seeds from set_seed or the operating system, with the numbers of seeds used.
// States contain it, so that runs after a restored one are also reproduced.
struct SeedSequence {
  uint64_t seed = 0;
  bool given = false;       // by set_seed
  uint64_t operations = 0;  // keys used outside of pipelines
  uint64_t sessions = 0;    // seeds used by runs and shuffles

  void Visit(StateVisitor& visitor);
};
SeedSequence CurrentSeeds();
void ContinueSeeds(const SeedSequence& seeds);
void SetGlobalSeed(uint64_t seed);
void ClearGlobalSeed();

}  // namespace penstock
