// Computes all rows together: stacked, or back to back if they differ in size.
#include "compute/program/rows_at_once.h"

#include <algorithm>

namespace penstock {
namespace {

// Common properties of the inputs of a step.
struct Common {
  bool by_row = false;       // not all inputs are constant
  int rank = 0;              // the maximum rank of a row
  Splits splits;             // set if an input is ragged
  bool item_by_item = true;  // all inputs have those splits, or are constants without axes

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

// `tensor`, which is stacked, with axes of size 1 inserted after the first until each row has
// `rank` axes.
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

// Calls the operation once. For ragged rows it treats each item as a row, so it must compute item
// by item what it computes row by row. False if the operation does not support that.
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
    // For a row without items, only the operation can determine the other axes.
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
