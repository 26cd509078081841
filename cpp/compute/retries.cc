// A function that wraps another one and repeats its failing calls.
#include "compute/retries.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/foreign.h"
#include "runtime/cancel.h"

namespace penstock {
namespace {

class RetryingFunction final : public Function {
 public:
  RetryingFunction(FunctionPtr function, int64_t retries)
      : function_(std::move(function)), retries_(retries) {}

  void Map(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    Call(&Function::Map, std::move(rows), info, out);
  }
  void TestRows(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    Call(&Function::TestRows, std::move(rows), info, out);
  }
  bool Test(const Element& element, const CallInfo& info) override {
    return Retried<bool>(info, [&] { return function_->Test(element, info); });
  }
  DatasetPtr Open(const Element& element, const CallInfo& info) override {
    return Retried<DatasetPtr>(info, [&] { return function_->Open(element, info); });
  }
  bool opens_files() const override { return function_->opens_files(); }
  MaybeSpec opened_spec() const override { return function_->opened_spec(); }
  bool has_workers() const override { return function_->has_workers(); }
  bool may_have_workers() const override { return function_->may_have_workers(); }
  std::vector<WorkerReport> Workers() const override { return function_->Workers(); }
  bool needs_lock() const override { return function_->needs_lock(); }
  Tensor::Memory slab_memory() const override { return function_->slab_memory(); }
  bool suspends() const override { return function_->suspends(); }
  std::unique_ptr<OngoingCalls> Ongoing(OngoingCalls::Take take, int64_t) override {
    return function_->Ongoing(std::move(take), retries_);
  }
  FunctionPtr InProcesses(const std::string& stage) override {
    FunctionPtr function = function_->InProcesses(stage);
    if (!function) return nullptr;
    return std::make_shared<RetryingFunction>(std::move(function), retries_);
  }

 private:
  using ForRows = void (Function::*)(Block&&, const CallInfo&, std::vector<Block>&);

  void Call(ForRows call, Block&& rows, const CallInfo& info, std::vector<Block>& out) {
    // A call may write to its arguments.
    const Block kept = rows.SliceApart(0, rows.rows);
    std::vector<Block> made;
    std::optional<Error> stopped;
    try {
      (*function_.*call)(std::move(rows), info, made);
    } catch (const Error& error) {
      stopped = error;
    }
    int64_t row = 0;
    for (Block& block : made) {
      const std::optional<Error> error = std::exchange(block.error, std::nullopt);
      row += block.rows;
      if (block.rows > 0) out.push_back(std::move(block));
      if (!error) continue;
      if (stopped) break;  // retried with the rows after it
      try {
        out.push_back(Again(call, kept, row, *error, info));
      } catch (const Error& transient) {
        stopped = transient;
        break;
      }
      ++row;
    }
    if (!stopped) return;
    rows = kept.SliceApart(row, kept.rows - row);
    throw *std::move(stopped);
  }

  // Repeats the call for one row after its first failure. Throws transient errors.
  Block Again(ForRows call, const Block& kept, int64_t row, Error error, const CallInfo& info) {
    CallInfo alone = info;
    alone.index += row;
    alone.first_row += row;
    for (int64_t i = 0; i < retries_ && MayRetry(error); ++i) {
      if (info.cancel && info.cancel->cancelled()) throw Error(ErrorKind::kCancelled, "");
      CountRetry(info);
      std::vector<Block> made;
      (*function_.*call)(kept.SliceApart(row, 1), alone, made);
      if (!made.at(0).error) return std::move(made[0]);
      error = *std::move(made[0].error);
    }
    NoteTries(error, retries_);
    return Block::Of(std::move(error));
  }

  template <typename Result>
  Result Retried(const CallInfo& info, const std::function<Result()>& call) {
    for (int64_t i = 0;; ++i) {
      try {
        return call();
      } catch (Error& error) {
        if (i == retries_) NoteTries(error, retries_);
        if (i == retries_ || !MayRetry(error)) throw;
      }
      CountRetry(info);
    }
  }

  const FunctionPtr function_;
  const int64_t retries_;
};

}  // namespace

PlannedFunction WithRetries(PlannedFunction planned, const Args& args) {
  const int64_t retries = args.IntAtLeast("max_retries", 0, 0);
  if (retries == 0) return planned;
  for (FunctionPtr* function : {&planned.usual, &planned.debugged}) {
    if (*function) *function = std::make_shared<RetryingFunction>(std::move(*function), retries);
  }
  return planned;
}

bool MayRetry(const Error& error) {
  return !error.transient() && !TheForeignRuntime().EndsProgram(error);
}

void CountRetry(const CallInfo& info) {
  if (info.retries) info.retries->fetch_add(1, std::memory_order_relaxed);
}

void NoteTries(Error& error, int64_t retries) {
  if (!MayRetry(error)) return;
  error.Note(Format("penstock: the call was made {} times (max_retries={})", retries + 1, retries));
}

}  // namespace penstock
