// Maps positions of elements to positions of their inputs' elements.
#include "engine/random_access.h"

#include <algorithm>
#include <utility>

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

Block RandomAccess::Gather(const Positions& positions, const RunContext& context) const {
  Block block;
  for (int64_t position : positions) {
    Step step = End{};
    try {
      step = At(position, context);
    } catch (Error& error) {
      step = std::move(error);
    }
    auto* element = std::get_if<Element>(&step);
    if (!element) {
      block.error = std::move(Block::Of(std::move(step)).error);
      break;
    }
    Block next = Block::Of(std::move(*element));
    if (block.rows == 0) {
      block = std::move(next);
    } else if (!block.Concat(next)) {
      break;  // different structure: produced again if the caller needs more
    }
  }
  return block;
}

Positions RandomAccess::InputPositions(const Positions&, size_t, const RunContext&) const {
  return {};
}

namespace {

[[noreturn]] void ThrowMissing(const Dataset& dataset, int64_t index) {
  throw Error(ErrorKind::kInvalidArgument,
              "at: {} was expected to have an element {}, its number of elements is {}",
              dataset.name(), index, dataset.cardinality());
}

}  // namespace

Block ElementsAt(const Dataset& dataset, const Positions& positions, const RunContext& context) {
  const int64_t size = dataset.cardinality();
  auto missing = std::ranges::find_if(positions, [size](int64_t index) {
    return index < 0 || (size != kInfinite && index >= size);
  });
  if (missing == positions.begin()) ThrowMissing(dataset, *missing);
  if (missing != positions.end()) {
    return ElementsAt(dataset, Positions(positions.begin(), missing), context);
  }
  if (auto* stage = dynamic_cast<const RandomAccess*>(&dataset)) {
    return stage->Gather(positions, context);
  }
  return dataset.indexed()->Gather(positions.data(), static_cast<int64_t>(positions.size()));
}

Step ElementAt(const Dataset& dataset, int64_t index, const RunContext& context) {
  int64_t size = dataset.cardinality();
  if (index < 0 || (size != kInfinite && index >= size)) ThrowMissing(dataset, index);
  if (auto* stage = dynamic_cast<const RandomAccess*>(&dataset)) return stage->At(index, context);
  return dataset.indexed()->Rows(index, 1).ToStep();
}

Step InputAt(const Dataset& stage, int64_t index, const RunContext& context, size_t i) {
  if (stage.inputs().size() == 1) return ElementAt(stage.input(), index, context);
  RunContext branch = context;  // as when the input is started
  branch.place = context.place.Fork(i);
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

Block MapAt(const Dataset& stage, const PlannedFunction& function, const Positions& positions,
            const RunContext& context) {
  const FunctionPtr& called = context.Called(function);
  // A user's function must be called once per element, but after an error a gathered block is
  // produced again. So each call handles one element.
  if (called->needs_lock()) return Block::Of(MapAt(stage, function, positions.front(), context));
  Block rows = ElementsAt(stage.input(), positions, context);
  if (rows.rows == 0) return rows;
  std::optional<Error> error = std::exchange(rows.error, std::nullopt);
  const int64_t count = rows.rows;
  std::vector<Block> made;
  called->Map(std::move(rows), {&stage.label(), stage.Randomness(context), positions.front()},
              made);
  Block all = std::move(made.front());
  for (size_t i = 1; i < made.size() && !all.error; ++i) {
    if (!all.Concat(made[i])) break;
  }
  if (all.rows == count) all.error = std::move(error);
  return all;
}

}  // namespace penstock
