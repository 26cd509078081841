// SequenceKey: the key of a stage whose draws are the same in every epoch, or rerandomized in each.
#pragma once

#include <optional>

#include "compute/args.h"
#include "data/random.h"
#include "engine/dataset.h"

namespace penstock {

// From the arguments seed and rerandomize_each_iteration (which may be missing) of the stage. With
// a seed the draws are the same in every run and epoch; without one, in every epoch of a run.
// Rerandomized draws differ in each epoch and run, in a sequence that derives from the seed. With a
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
    // The stage is distinguished by its number among those that count runs, which is the same in
    // every epoch.
    for (size_t i = 0; i < identity.runs.size(); ++i) {
      if (identity.runs[i].first == &stage)
        return RandomKey{identity.seed}.Fold(stage.chain()).Fold(i);
    }
    return random.Key();  // made while running
  }

 private:
  std::optional<uint64_t> seed_;
  bool rerandomizes_ = false;
};

}  // namespace penstock
