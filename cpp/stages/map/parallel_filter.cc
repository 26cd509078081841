// filter with parallel calls: a parallel map computes which rows pass, and the consumer drops the
// others.
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "compute/retries.h"
#include "engine/registry.h"
#include "engine/session.h"
#include "stages/map/parallel_map.h"
#include "storage/stop_check.h"

namespace penstock {
namespace {

Block Flagged(Block rows, const Tensor& flags) {
  const StructureRef structure = Structure::Tuple({rows.structure, Structure::Leaf()});
  rows.structure = structure;
  if (rows.stacked()) {
    rows.columns.emplace_back(flags);
    return rows;
  }
  for (int64_t row = 0; row < rows.rows; ++row) {
    Element& element = rows.elements[static_cast<size_t>(row)];
    element.structure = structure;
    element.leaves.push_back(flags.Row(row));
  }
  return rows;
}

// Tests in progress; their results are the rows with flags.
class OngoingTests final : public OngoingCalls {
 public:
  OngoingTests(Function& predicate, Take take, int64_t retries)
      : tests_(predicate.Ongoing(
            [take = std::move(take)](std::vector<Ended> ended) {
              for (Ended& test : ended) {
                if (test.tested.rows == 0) continue;
                Block& result = test.results[0];
                result = Flagged(std::move(test.tested), result.columns[0].items);
              }
              take(std::move(ended));
            },
            retries)) {}

  void Begin(Block&& rows, const CallInfo& info, int64_t number) override {
    CallInfo test = info;
    test.tests = true;
    tests_->Begin(std::move(rows), test, number);
  }

 private:
  const std::unique_ptr<OngoingCalls> tests_;
};

class FlaggingFunction final : public Function {
 public:
  explicit FlaggingFunction(FunctionPtr predicate) : predicate_(std::move(predicate)) {}

  void Map(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    std::vector<Block> held;
    if (!predicate_->needs_lock()) {
      Block tested = rows;
      CallInfo tried = info;
      tried.retries = nullptr;  // failed rows are tested again below
      predicate_->Map(std::move(tested), tried, held);
      if (auto passing = PassingRows(held)) {
        Tensor flags = Tensor::Make(DTypeOf<bool>(), {rows.rows});
        std::memset(flags.mutable_data(), 0, flags.nbytes());
        for (int64_t row : *passing) flags.mutable_data()[row] = 1;
        out.push_back(Flagged(std::move(rows), flags));
        return;
      }
      held.clear();
    }
    try {
      Block tested = rows;
      predicate_->TestRows(std::move(tested), info, held);
    } catch (const Error& error) {
      if (!error.transient()) throw;
      const std::vector<bool> own = rows.own_columns();
      const int64_t done = AddFlagged(rows, own, held, out);
      rows = rows.Divide(done, rows.rows - done, own);
      throw;
    }
    AddFlagged(rows, rows.own_columns(), held, out);
  }

  bool needs_lock() const override { return predicate_->needs_lock(); }
  bool suspends() const override { return predicate_->suspends(); }
  std::unique_ptr<OngoingCalls> Ongoing(OngoingCalls::Take take, int64_t retries) override {
    return std::make_unique<OngoingTests>(*predicate_, std::move(take), retries);
  }

 private:
  // Returns the number of rows with an answer.
  static int64_t AddFlagged(const Block& rows, const std::vector<bool>& own,
                            const std::vector<Block>& held, std::vector<Block>& out) {
    int64_t done = 0;
    for (const Block& block : held) {
      if (block.rows > 0) {
        out.push_back(Flagged(rows.Divide(done, block.rows, own), block.columns[0].items));
      }
      done += block.rows;
      if (!block.error) continue;
      out.push_back(Block::Of(*block.error));
      ++done;
    }
    return done;
  }

  const FunctionPtr predicate_;
};

class ParallelFilterDataset final : public Dataset {
 public:
  ParallelFilterDataset(PlannedFunction predicate, int64_t calls, bool ordered, DatasetPtr in_line)
      : predicate_(std::move(predicate)),
        calls_(calls),
        ordered_(ordered),
        in_line_(std::move(in_line)) {}
  int64_t cardinality() const override { return kUnknown; }
  MaybeSpec spec() const override { return input_spec(); }
  bool asynchronous() const override { return true; }
  bool apart() const override { return true; }
  bool reorders(bool) const override { return !ordered_; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override {
    if (!context.threads) return in_line_->Start(context);
    RunContext rows = context;
    rows.batch_rows = 0;  // the rows of a batch are unknown until they have been tested
    rows.ragged = false;
    FunctionPtr predicate = context.Executed(predicate_, *this, calls_);
    const bool ordered = context.replayed || ordered_;
    return MakeParallelCalls(*this, rows, {Flagging(std::move(predicate)), calls_, ordered, true});
  }

 private:
  PlannedFunction predicate_;
  int64_t calls_;
  bool ordered_;
  DatasetPtr in_line_;  // sequential fallback used in debug mode
};

const RegisterDataset parallel_filter_stage(
    "parallel_filter",
    {.form_of = "filter",
     .timing_arguments = {"num_parallel_calls", "max_retries"},
     .share_states = {"deterministic"}},
    [](const std::vector<DatasetPtr>& inputs, const Args& args) -> std::shared_ptr<Dataset> {
      int64_t calls = args.Int("num_parallel_calls");
      if (calls != kAutotune) calls = args.IntAtLeast("num_parallel_calls", 1);
      const bool ordered = !args.Has("deterministic") || args.Bool("deterministic");
      return std::make_shared<ParallelFilterDataset>(WithRetries(args.Callable("predicate"), args),
                                                     calls, ordered,
                                                     MakeDataset("filter", inputs, args));
    });

}  // namespace

FunctionPtr Flagging(FunctionPtr predicate) {
  return std::make_shared<FlaggingFunction>(std::move(predicate));
}

namespace {

Block ThoseThatStay(Block flagged) {
  if (flagged.rows == 0) return flagged;
  const StructureRef structure = flagged.structure->children()[0];
  flagged.structure = structure;
  std::vector<int64_t> kept;
  if (flagged.stacked()) {
    const Tensor flags = flagged.columns.back().items;
    flagged.columns.pop_back();
    for (int64_t row = 0; row < flagged.rows; ++row) {
      if (flags.data()[row]) kept.push_back(row);
    }
  } else {
    for (int64_t row = 0; row < flagged.rows; ++row) {
      Element& element = flagged.elements[static_cast<size_t>(row)];
      if (element.leaves.back().value<bool>()) kept.push_back(row);
      element.leaves.pop_back();
      element.structure = structure;
    }
  }
  Block rows = flagged.Take(kept);
  rows.error = std::exchange(flagged.error, std::nullopt);
  rows.end = flagged.end;
  return rows;
}

}  // namespace

Block RowsThatStay(const std::function<Block()>& next) {
  Block block = ThoseThatStay(next());
  if (block.rows > 0 || block.last()) return block;
  StopCheck stop(nullptr);  // many rows may be dropped without ever waiting
  for (;;) {
    stop.Look();
    block = ThoseThatStay(next());
    if (block.rows > 0 || block.last()) return block;
  }
}

}  // namespace penstock
