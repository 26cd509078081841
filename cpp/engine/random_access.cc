// From the position of an element to those of what it is made of.
#include "engine/random_access.h"

namespace penstock {

const Dataset* StageWithoutRandomAccess(const Dataset& dataset) {
  const Dataset* without = nullptr;
  dataset.ForEachNode([&](const Dataset& node) {
    auto* stage = dynamic_cast<const RandomAccess*>(&node);
    bool has = node.indexed() || (stage && stage->has_random_access());
    if (!has && !without) without = &node;
  });
  return without;
}

Step ElementAt(const Dataset& dataset, int64_t index, const RunContext& context) {
  int64_t size = dataset.cardinality();
  if (index < 0 || (size != kInfinite && index >= size)) {
    throw Error(ErrorKind::kInvalidArgument,
                "at: {} was expected to have an element {}, its number of elements is {}",
                dataset.name(), index, size);
  }
  if (auto* stage = dynamic_cast<const RandomAccess*>(&dataset)) return stage->At(index, context);
  return dataset.indexed()->Rows(index, 1).Row(0);
}

Step InputAt(const Dataset& stage, int64_t index, const RunContext& context, size_t i) {
  if (stage.inputs().size() == 1) return ElementAt(stage.input(), index, context);
  RunContext branch = context;  // as when the input is started
  branch.place = context.place.Fold(i);
  return ElementAt(stage.input(i), index, branch);
}

Step MapAt(const Dataset& stage, const PlannedFunction& function, int64_t index,
           const RunContext& context) {
  Step step = InputAt(stage, index, context);
  auto* element = std::get_if<Element>(&step);
  if (!element) return step;
  std::vector<Block> made;
  CallInfo info{&stage.label(), stage.Randomness(context), index};
  context.Called(function)->Map(Block::Of(std::move(*element)), info, made);
  return std::move(made.at(0)).ToStep();
}

}  // namespace penstock
