// All rows at once: stacked, or one after the other where they differ in size.
#include "compute/program/rows_at_once.h"

#include <algorithm>

namespace penstock {
namespace {

// What the inputs of a step have in common.
struct Common {
  bool by_row = false;       // any of them: not all are constant
  int rank = 0;              // of a row: the most
  Splits splits;             // where any is ragged
  bool item_by_item = true;  // they have those splits, or are constants without axes

  static Common Of(const std::vector<Column>& inputs) {
    Common common;
    for (const Column& input : inputs) {
      common.by_row = common.by_row || !input.constant;
      if (input.ragged()) common.splits = input.splits;
      common.rank = std::max(common.rank, input.rank());
    }
    for (const Column& input : inputs) {
      int rank = input.constant ? 0 : common.rank;
      bool same = input.splits == (input.constant ? nullptr : common.splits);
      common.item_by_item = common.item_by_item && same && input.items.shape().rank() == rank;
    }
    return common;
  }
};

// `tensor` stacked, with axes of size 1 after the first one until each row has `rank` axes.
Tensor Widened(const Tensor& tensor, int rank) {
  const Shape& shape = tensor.shape();
  int missing = rank - (shape.rank() - 1);
  if (missing <= 0) return tensor;
  std::vector<int64_t> dims{shape[0]};
  dims.insert(dims.end(), static_cast<size_t>(missing), 1);
  dims.insert(dims.end(), shape.dims().begin() + 1, shape.dims().end());
  return tensor.Reshaped(Shape(dims.data(), dims.size()));
}

bool AnyEmpty(const std::vector<int64_t>& splits) {
  return std::adjacent_find(splits.begin(), splits.end()) != splits.end();
}

// Calls the operation once. Items of rows that differ in size are to it rows of their own: what it
// does row by row it does item by item. False when it is not such an operation.
bool CallByRows(const Op& op, const std::vector<Column>& inputs, const Common& common,
                std::vector<Column>& outputs) {
  const bool ragged = common.splits != nullptr;
  if (ragged && !common.item_by_item) return false;
  std::vector<Tensor> items;
  for (const Column& input : inputs) {
    bool stacked = !input.constant && !ragged;
    items.push_back(stacked ? Widened(input, common.rank) : input.items);
  }
  if (!op.by_rows(items)) return false;
  for (Tensor& output : op.Call(items, {})) {
    const Shape& shape = output.shape();
    if (ragged && (shape.rank() == 0 || shape[0] != common.splits->back())) return false;
    // The further axes of a row without items are its operation's own to decide.
    if (ragged && shape.rank() > 1 && AnyEmpty(*common.splits)) return false;
    outputs.push_back(common.by_row ? Column(std::move(output), common.splits)
                                    : Column::Constant(std::move(output)));
  }
  return true;
}

}  // namespace

bool RunAtOnce(const std::vector<Instruction>& steps, int64_t rows, std::vector<Column>& values) {
  std::vector<Column> inputs;
  std::vector<Column> outputs;
  for (const auto& [step, last, leaf] : steps) {
    if (!values[static_cast<size_t>(step.output)].constant) continue;
    inputs.clear();
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      Column& value = values[static_cast<size_t>(step.inputs[i])];
      inputs.push_back(last[i] ? std::move(value) : value);
    }
    Common common = Common::Of(inputs);
    if (common.by_row && common.rank >= kMaxRank) return false;
    outputs.clear();
    if (!CallByRows(*step.op, inputs, common, outputs)) {
      auto ragged = common.by_row ? step.op->CallRagged(inputs, rows) : std::nullopt;
      if (!ragged) return false;
      outputs.assign(1, *std::move(ragged));
    }
    std::move(outputs.begin(), outputs.end(), values.begin() + step.output);
  }
  return true;
}

}  // namespace penstock
