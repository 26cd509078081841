// Which elements every shard gets, and what stands for one that is missing.
#pragma once

#include <string>

#include "engine/dataset.h"
#include "engine/elastic.h"
#include "engine/plan_text.h"

namespace penstock {

// What becomes of the last round, in which there is no element for every shard.
enum class Remainder { kDrop, kPad, kRepeat };

// Elements are distributed in rounds of one for each shard.
struct EvenSharding {
  int64_t shards;
  int64_t index;
  Remainder remainder;
  uint64_t seed;

  // From the arguments num_shards, index, remainder and seed of shard_evenly.
  explicit EvenSharding(const Args& args);
  // Rounds of n elements, kInfinite or kUnknown.
  int64_t Rounds(int64_t n) const;
  // The elements that `rounds` rounds take of the `left` ones, at most all of them.
  int64_t Taken(int64_t rounds, int64_t left) const;
  // The number, among n elements, of this shard's in the round that begins with number `round` < n;
  // after the last element comes the first.
  int64_t Repeated(int64_t round, int64_t n) const;
  // Every shard must see the same elements in the same order, whatever process it is in: all that
  // is random before it depends on a seed of this stage and the number of its run, and nothing
  // overtakes. `stage` counts its runs.
  RunContext Common(const RunContext& context, const Dataset& stage) const;
  // One state serves all shards of the same number, because what is pulled again is counted in
  // rounds.
  void VisitState(StateVisitor& visitor) const;
  // The sharding that a state was saved in.
  EvenSharding Former(const Carrying& carrying, const Dataset& stage) const;
  // Passes over rounds of `n` elements (kInfinite or kUnknown), the next of which begins with
  // number `round`, as far as there are any: counts `rounds` down, and returns where they end.
  int64_t PassRounds(int64_t round, int64_t n, int64_t& rounds) const;
  // The padding for a missing element, in the shape of an existing one.
  Element PaddingLike(const Element& element) const;
};

// A stage that knows how elements are distributed: the plan's text says it.
class EvenShardingStage : public PlanDetail, public Elastic {
 public:
  explicit EvenShardingStage(const EvenSharding& sharding) : sharding_(sharding) {}
  const EvenSharding& sharding() const { return sharding_; }
  std::string plan_detail() const override;
  int64_t elastic_size() const override { return sharding_.shards; }
  int64_t elastic_index() const override { return sharding_.index; }

 protected:
  const EvenSharding sharding_;
};

// The element, with whether it is a real one.
Element Masked(Element element, bool real);
// An element as a real one, anything else as it is.
Step Real(Step step);
// The error for padding that has no shape because all `elements` elements that it could follow have
// failed.
Error AllFailed(int64_t elements);
ElementSpec MaskedSpec(ElementSpec spec);
// Throws when one of its leaves cannot be zero.
void CheckPadding(const ElementSpec& spec);

}  // namespace penstock
