// take_while: the elements before the first one that does not satisfy a predicate.
#include "engine/input.h"
#include "engine/registry.h"

namespace penstock {
namespace {

class TakeWhileDataset final : public Dataset {
 public:
  explicit TakeWhileDataset(PlannedFunction predicate) : predicate_(std::move(predicate)) {}
  int64_t cardinality() const override { return kUnknown; }
  MaybeSpec spec() const override { return input_spec(); }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  PlannedFunction predicate_;
};

class TakeWhileIterator final : public Iterator {
 public:
  TakeWhileIterator(const StageLabel& stage, IteratorPtr input, FunctionPtr predicate,
                    StageRandom random)
      : stage_(stage),
        input_(std::move(input)),
        predicate_(std::move(predicate)),
        random_(random) {}

  void VisitState(StateVisitor& visitor) override {
    visitor.Count(index_, "elements tested");
    visitor.Bool(ended_);
    input_.VisitState(visitor, interrupted_ ? 1 : 0);
  }

 protected:
  Step DoNext() override {
    if (ended_) return End{};
    if (!interrupted_) input_.Keep(input_.position());
    Step step = interrupted_ ? *std::exchange(interrupted_, std::nullopt) : input_.Next();
    auto* element = std::get_if<Element>(&step);
    if (!element) {
      if (auto* error = std::get_if<Error>(&step)) index_ += !error->transient();
      return step;
    }
    CallInfo info{&stage_, random_, index_++};
    try {
      if (predicate_->Test(*element, info)) return step;
    } catch (const Error& error) {
      if (error.transient()) {
        --index_;
        interrupted_ = std::move(step);
      }
      throw;
    }
    ended_ = true;
    return End{};
  }

 private:
  const StageLabel& stage_;
  Input input_;
  std::optional<Step> interrupted_;  // to be tested again
  FunctionPtr predicate_;
  StageRandom random_;
  int64_t index_ = 0;
  bool ended_ = false;
};

IteratorPtr TakeWhileDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<TakeWhileIterator>(label(), StartInput(context),
                                             context.Called(predicate_), Randomness(context));
}

const RegisterDataset take_while_stage(
    "take_while", [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<TakeWhileDataset>(args.Callable("predicate"));
    });

}  // namespace
}  // namespace penstock
