// filter: passes on the elements for which a predicate holds.
#include "pipeline/input.h"
#include "pipeline/registry.h"

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

class FilterIterator final : public Iterator {
 public:
  FilterIterator(IteratorPtr input, FunctionPtr predicate, StageRandom random, CancelToken cancel)
      : input_(std::move(input)),
        predicate_(std::move(predicate)),
        random_(random),
        cancel_(std::move(cancel)) {}

  void VisitState(StateVisitor& visitor) override {
    visitor.Int(index_);
    input_.VisitState(visitor, interrupted_ ? 1 : 0);
  }

 protected:
  Step DoNext() override {
    for (;;) {
      // An endless input without a match must still be closable.
      if (cancel_.cancelled()) return Error(ErrorKind::kCancelled, "");
      if (!interrupted_) input_.Keep(input_.position());
      Step step = interrupted_ ? *std::exchange(interrupted_, std::nullopt) : input_.Next();
      auto* element = std::get_if<Element>(&step);
      if (!element) {
        if (auto* error = std::get_if<Error>(&step)) index_ += !error->transient();
        return step;
      }
      CallInfo info{"filter", random_, index_++};
      try {
        if (predicate_->Test(*element, info)) return step;
      } catch (const Error& error) {
        if (error.transient()) {
          --index_;
          interrupted_ = std::move(step);
        }
        throw;
      }
    }
  }

 private:
  Input input_;
  std::optional<Step> interrupted_;  // its test is to be done again
  FunctionPtr predicate_;
  StageRandom random_;
  CancelToken cancel_;
  int64_t index_ = 0;
};

IteratorPtr FilterDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<FilterIterator>(StartInput(context), predicate_, Randomness(context),
                                          context.cancel);
}

const RegisterDataset registration(
    "filter", [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<FilterDataset>(args.Callable("predicate"));
    });

}  // namespace
}  // namespace penstock
