// SequenceKey: the random key of a stage whose draws repeat in every epoch, or change in each.
#pragma once

#include <optional>

#include "compute/args.h"
#include "data/random.h"
#include "engine/dataset.h"

namespace penstock {

// Created from the stage's arguments `seed` and `rerandomize_each_iteration` (may be missing). With
// a seed, the draws are the same in every run and epoch; without one, in every epoch of a run.
// Rerandomized draws differ in each epoch and run, as a sequence derived from the seed. With a
// seed, the stage's place in the plan does not matter. The stage counts its runs.
class SequenceKey {
 public:
  explicit SequenceKey(const Args& args) {
    if (args.Has("seed")) seed_ = static_cast<uint64_t>(args.Int("seed"));
    rerandomizes_ = args.Has("rerandomize_each_iteration") &&  //
                    args.Bool("rerandomize_each_iteration");
  }

  RandomKey Of(const Dataset& stage, const RunContext& context) const {
    const RunIdentity& identity = *context.identity;
    const StageRandom random = stage.Randomness(context);
    if (rerandomizes_) {
      return random.Key(seed_).Fold(static_cast<uint64_t>(identity.RunNumber(stage)));
    }
    if (seed_) {
      RandomKey key{*seed_};
      for (char letter : stage.name()) key = key.Fold(static_cast<uint64_t>(letter));
      return key;
    }
    // Distinguish the stage by its index among those that count runs, which is the same in every
    // epoch.
    for (size_t i = 0; i < identity.runs.size(); ++i) {
      if (identity.runs[i].first == &stage)
        return RandomKey{identity.seed}.Fold(stage.chain()).Fold(i);
    }
    return random.Key();  // created during the run
  }

 private:
  std::optional<uint64_t> seed_;
  bool rerandomizes_ = false;
};

}  // namespace penstock
