// Default implementations of Function.
#include "compute/function.h"

#include <cstring>

#include "data/element_text.h"

namespace penstock {

bool Function::Test(const Element&, const CallInfo& info) {
  throw Error(ErrorKind::kType, "{}: this function cannot be used as a predicate",
              info.stage->kind);
}

Block Bools(const std::vector<uint8_t>& held) {
  Block block;
  block.rows = static_cast<int64_t>(held.size());
  Tensor bools = Tensor::Make(DTypeOf<bool>(), {block.rows});
  std::memcpy(bools.mutable_data(), held.data(), held.size());
  block.columns.push_back(std::move(bools));
  return block;
}

void Function::TestRows(Block&& rows, const CallInfo& info, std::vector<Block>& out) {
  std::vector<uint8_t> held;  // of consecutive rows
  int64_t row = 0;
  auto hand_over = [&] {
    if (!held.empty()) out.push_back(Bools(held));
    held.clear();
  };
  for (; row < rows.rows; ++row) {
    if (info.progress) info.progress->store(row, std::memory_order_relaxed);
    CallInfo one = info;
    one.index = info.index + row;
    try {
      held.push_back(Test(rows.Row(row), one));
    } catch (const Error& error) {
      hand_over();
      if (error.transient()) {
        rows = rows.Slice(row, rows.rows - row);
        throw;
      }
      out.push_back(Block::Of(error));
    }
  }
  hand_over();
}

DatasetPtr Function::Open(const Element&, const CallInfo& info) {
  throw Error(ErrorKind::kType, "{}: this function cannot return a dataset", info.stage->kind);
}

std::unique_ptr<OngoingCalls> Function::Ongoing(OngoingCalls::Take, int64_t) {
  throw Error(ErrorKind::kRuntime, "the calls of this function need a thread each");
}

std::optional<std::vector<int64_t>> PassingRows(const std::vector<Block>& results) {
  std::vector<int64_t> passing;
  int64_t row = 0;
  for (const Block& block : results) {
    if (block.error) return std::nullopt;
    for (int64_t i = 0; i < block.rows; ++i, ++row) {
      const bool stacked = block.stacked();
      const auto number = static_cast<size_t>(i);
      const size_t leaves = stacked ? block.columns.size() : block.elements[number].leaves.size();
      if (leaves != 1) return std::nullopt;
      const Tensor& value = stacked ? block.columns[0].items : block.elements[number].leaves[0];
      if (value.dtype().code != TypeCode::kBool || value.elements() != (stacked ? block.rows : 1))
        return std::nullopt;
      if (value.data()[stacked ? i : 0]) passing.push_back(row);
    }
  }
  return passing;
}

FunctionPtr Function::InProcesses(const std::string&) { return nullptr; }

Executor ExecutorOf(std::string_view name) {
  if (name == "thread") return Executor::kThread;
  if (name == "process") return Executor::kProcess;
  return name == "auto" ? Executor::kAuto : Executor::kOfRun;
}

FailedStep FailedStepOf(const CallInfo& info, int64_t row, const Element& element) {
  return {*info.stage, info.index + row, ElementText(element)};
}

}  // namespace penstock
