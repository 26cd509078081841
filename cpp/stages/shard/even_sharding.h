// Which elements each shard gets, and how missing ones are replaced.
#pragma once

#include <string>

#include "engine/dataset.h"
#include "engine/elastic.h"
#include "engine/plan_text.h"

namespace penstock {

// How to handle the last round if it has fewer elements than shards.
enum class Remainder { kDrop, kPad, kRepeat };

// Elements are distributed in rounds of one per shard.
struct EvenSharding {
  int64_t shards;
  int64_t index;
  Remainder remainder;
  uint64_t seed;

  // From the arguments num_shards, index, remainder and seed of shard_evenly.
  explicit EvenSharding(const Args& args);
  // The number of rounds for n elements; kInfinite or kUnknown.
  int64_t Rounds(int64_t n) const;
  // The number of elements that `rounds` rounds take of the `left` remaining ones.
  int64_t Taken(int64_t rounds, int64_t left) const;
  // The index, among n elements, of this shard's element in the round that starts at index `round`
  // < n; wraps around after the last element.
  int64_t Repeated(int64_t round, int64_t n) const;
  // All shards must see the same elements in the same order, in any process. So all randomness
  // upstream depends on a seed of this stage and the number of its run, and nothing is delivered
  // out of order. `stage` counts its runs.
  RunContext Common(const RunContext& context, const Dataset& stage) const;
  // One state serves all shards of the same number, because replay is counted in rounds.
  void VisitState(StateVisitor& visitor) const;
  // The sharding in which a state was saved.
  EvenSharding Former(const Carrying& carrying, const Dataset& stage) const;
  // Skips rounds of `n` elements (kInfinite or kUnknown), starting with the one at index `round`.
  // Decrements `rounds`, and returns the index where they end.
  int64_t PassRounds(int64_t round, int64_t n, int64_t& rounds) const;
  // Padding for a missing element, with the shape of an existing one.
  Element PaddingLike(const Element& element) const;
};

// A stage that distributes elements; the plan's text contains the details.
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

// Pairs the element with a flag: whether it is real.
Element Masked(Element element, bool real);
// Marks an element as real; returns other steps unchanged.
Step Real(Step step);
// The error for padding without a known shape, because all `elements` elements that could provide
// one failed.
Error AllFailed(int64_t elements);
ElementSpec MaskedSpec(ElementSpec spec);
// Throws if a leaf cannot be zero.
void CheckPadding(const ElementSpec& spec);

}  // namespace penstock
