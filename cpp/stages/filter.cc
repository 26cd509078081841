// filter: passes on the elements for which a predicate holds.
#include <algorithm>
#include <new>

#include "engine/input.h"
#include "engine/registry.h"

namespace penstock {
namespace {

class FilterDataset final : public Dataset {
 public:
  explicit FilterDataset(FunctionPtr predicate) : predicate_(std::move(predicate)) {}
  int64_t cardinality() const override { return kUnknown; }
  MaybeSpec spec() const override { return input_spec(); }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  FunctionPtr predicate_;
};

class FilterIterator final : public BlockIterator {
 public:
  FilterIterator(const StageLabel& stage, IteratorPtr input, FunctionPtr predicate,
                 StageRandom random, CancelToken cancel)
      : stage_(stage),
        input_(std::move(input)),
        predicate_(std::move(predicate)),
        random_(random),
        cancel_(std::move(cancel)) {}

  void VisitState(StateVisitor& visitor) override {
    visitor.Count(index_, "elements tested");
    input_.VisitState(visitor, left() + (error_ && !error_->transient()));
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
      // An endless input without a match must still be closable.
      if (cancel_.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
      if (left() > 0) {
        Element element = rows_.Row(at_);
        if (TestNext(element)) return Block::Of(std::move(element));
        continue;
      }
      if (error_) {
        Error error = *std::exchange(error_, std::nullopt);
        index_ += !error.transient();
        return Block::Of(std::move(error));
      }
      input_.Keep(input_.position());
      Pull(max_rows);
      error_ = std::exchange(rows_.error, std::nullopt);
      const bool end = std::exchange(rows_.end, false);
      if (rows_.rows > 1) {
        const int64_t tested = rows_.rows;
        if (auto passing = Passing()) {
          index_ += tested;
          rows_ = Block();
          if (passing->rows > 0) return *std::move(passing);
        }
      }
      if (end && left() == 0 && !error_) return Block::AtEnd();
    }
  }

 private:
  // Rows whose test is still to be done.
  int64_t left() const { return rows_.rows - at_; }

  // Small rows together; a function of the user is called for no more of them than are wanted.
  void Pull(int64_t max_rows) {
    constexpr int64_t kTogether = 1 << 20;  // bytes
    rows_ = input_.NextBlock(std::min(max_rows, together_));
    at_ = 0;
    if (rows_.rows == 0 || predicate_->needs_lock()) return;
    int64_t each = static_cast<int64_t>(rows_.footprint()) / rows_.rows;
    together_ = rows_.CanBeAlone() ? std::max<int64_t>(kTogether / (each + 1), 1) : 1;
  }

  // Tests the first of them; an interrupted test is done again.
  bool TestNext(const Element& element) {
    CallInfo info{&stage_, random_, index_++};
    ++at_;
    try {
      return predicate_->Test(element, info);
    } catch (const Error& error) {
      if (error.transient()) {
        --index_;
        --at_;
      }
      throw;
    }
  }

  // Those that pass, or none; nullopt, with all as they were, when each is to be tested alone: that
  // tells what is wrong with one, and needs less memory.
  std::optional<Block> Passing() {
    try {
      std::optional<std::vector<int64_t>> passing = Tested();
      if (!passing) return std::nullopt;
      return rows_.Take(*passing);
    } catch (const std::bad_alloc&) {
      return std::nullopt;
    }
  }

  // The numbers of those that pass.
  std::optional<std::vector<int64_t>> Tested() {
    made_.clear();
    Block rows = rows_;
    predicate_->Map(std::move(rows), CallInfo{&stage_, random_, index_}, made_);
    std::vector<int64_t> passing;
    int64_t row = 0;
    for (const Block& block : made_) {
      if (block.error) return std::nullopt;
      for (int64_t i = 0; i < block.rows; ++i, ++row) {
        const std::vector<Tensor>& leaves =
            block.stacked() ? block.columns : block.elements[static_cast<size_t>(i)].leaves;
        const int64_t items = block.stacked() ? block.rows : 1;
        if (leaves.size() != 1 || leaves[0].dtype().code != TypeCode::kBool ||
            leaves[0].elements() != items) {
          return std::nullopt;
        }
        if (leaves[0].data()[block.stacked() ? i : 0]) passing.push_back(row);
      }
    }
    return passing;
  }

  const StageLabel& stage_;
  Input input_;
  Block rows_;  // pulled; those from number at_ on are not tested yet
  int64_t at_ = 0;
  int64_t together_ = 1;        // rows that may be pulled at a time
  std::optional<Error> error_;  // behind them
  std::vector<Block> made_;     // kept for its memory
  FunctionPtr predicate_;
  StageRandom random_;
  CancelToken cancel_;
  int64_t index_ = 0;
};

IteratorPtr FilterDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<FilterIterator>(label(), StartInput(context), predicate_,
                                          Randomness(context), context.cancel);
}

const RegisterDataset registration(
    "filter", [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<FilterDataset>(args.Callable("predicate"));
    });

}  // namespace
}  // namespace penstock
