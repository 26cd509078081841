// filter: keeps the elements that satisfy a predicate.
#include <algorithm>
#include <new>

#include "compute/retries.h"
#include "data/block_size.h"
#include "engine/registry.h"
#include "engine/row_cursor.h"
#include "engine/session.h"

namespace penstock {
namespace {

class FilterDataset final : public Dataset {
 public:
  explicit FilterDataset(PlannedFunction predicate) : predicate_(std::move(predicate)) {}
  int64_t cardinality() const override { return kUnknown; }
  MaybeSpec spec() const override { return input_spec(); }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  PlannedFunction predicate_;
};

class FilterIterator final : public BlockIterator {
 public:
  FilterIterator(Session& session, const StageLabel& stage, IteratorPtr input,
                 FunctionPtr predicate, StageRandom random, CancelToken cancel)
      : session_(session),
        stage_(stage),
        rows_(std::move(input), kTogether),
        predicate_(std::move(predicate)),
        random_(random),
        cancel_(std::move(cancel)) {}

  void VisitState(StateVisitor& visitor) override {
    visitor.Count(index_, "elements tested");
    rows_.VisitState(visitor);
    if (!visitor.saving() && visitor.has_more()) {  // see MapProgress
      throw Error(
          ErrorKind::kInvalidArgument,
          "set_state: the state was saved with deterministic=False in filter; restore it into a "
          "pipeline with num_parallel_calls there");
    }
  }

  std::optional<Error> Discard(int64_t& steps) override {
    while (steps > 0) {
      Block block = NextBlock(std::min(steps, kMostBlockRows));
      if (block.error && block.error->transient()) return block.error;
      if (block.rows == 0 && !block.error) steps = 0;
      steps -= block.rows + block.error.has_value();
    }
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    for (;;) {
      // An infinite input without a match must still be closable.
      if (cancel_.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
      if (!rows_.empty()) {
        if (auto element = TestNext()) return Block::Of(*std::move(element));
        continue;
      }
      if (rows_.failed()) {
        Error error = rows_.TakeError();
        index_ += !error.transient();
        return Block::Of(std::move(error));
      }
      if (rows_.ended()) return Block::AtEnd();
      rows_.input().Keep(rows_.position());
      // A user's function is never called for more rows than requested.
      rows_.Pull(predicate_->needs_lock() ? 1 : max_rows);
      if (rows_.left() < 2) continue;
      const int64_t tested = rows_.left();
      if (auto passing = Passing()) {
        index_ += tested;
        if (passing->rows > 0) return *std::move(passing);
      }
    }
  }

 private:
  static constexpr int64_t kTogether = 1 << 20;  // bytes of rows that are tested together

  // Returns the next row if it passes. An interrupted test is repeated.
  std::optional<Element> TestNext() {
    Element element = rows_.TakeOwn();
    CallInfo info{&stage_, random_, index_++};
    info.retries = &stats().retries;
    info.session = &session_;
    info.slow = &session_.slow();
    try {
      if (predicate_->Test(element, info)) return element;
    } catch (const Error& error) {
      if (error.transient()) {
        --index_;
        rows_.Return(std::move(element));
      }
      throw;
    }
    return std::nullopt;
  }

  // Returns the rows that pass, perhaps none. Returns nullopt, with all rows unchanged, if each row
  // must be tested individually, which finds the row that fails and needs less memory.
  std::optional<Block> Passing() {
    try {
      std::optional<std::vector<int64_t>> passing = Tested();
      if (!passing) return std::nullopt;
      return rows_.TakeRows(*passing);
    } catch (const std::bad_alloc&) {
      return std::nullopt;
    }
  }

  // The indices of the rows that pass.
  std::optional<std::vector<int64_t>> Tested() {
    made_.clear();
    Block rows = rows_.block();
    rows.error.reset();
    rows.end = false;
    predicate_->Map(std::move(rows), CallInfo{&stage_, random_, index_}, made_);
    return PassingRows(made_);
  }

  Session& session_;
  const StageLabel& stage_;
  RowCursor rows_;           // to be tested
  std::vector<Block> made_;  // reused for its memory
  FunctionPtr predicate_;
  StageRandom random_;
  CancelToken cancel_;
  int64_t index_ = 0;
};

IteratorPtr FilterDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<FilterIterator>(*context.session, label(), StartInput(context),
                                          context.Executed(predicate_, *this, 1),
                                          Randomness(context), context.cancel);
}

const RegisterDataset filter_stage("filter", {.timing_arguments = {"max_retries"}},
                                   [](const std::vector<DatasetPtr>&,
                                      const Args& args) -> std::shared_ptr<Dataset> {
                                     return std::make_shared<FilterDataset>(
                                         WithRetries(args.Callable("predicate"), args));
                                   });

}  // namespace
}  // namespace penstock
