// scan and reduce: a function that carries a value from element to element.
#include "engine/elastic.h"
#include "engine/input.h"
#include "engine/registry.h"
#include "stages/scan/folded.h"
#include "storage/stop_check.h"

namespace penstock {
namespace {

struct Fold {
  PlannedFunction function;
  Element initial;
};

class ScanDataset final : public Dataset, public Elastic {
 public:
  // `carried`: the value with which another number of processes continues; nullopt if it depends on
  // the elements of one process.
  ScanDataset(Fold fold, std::optional<Element> carried)
      : fold_(std::move(fold)), carried_(std::move(carried)) {}
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override { return probed_spec(); }
  std::string unfit() const override {
    return carried_ ? "" : "makes its results of all elements that one process had";
  }
  void CarryState(StateVisitor* saved, int64_t& steps, std::string& out,
                  Carrying& carrying) const override;

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  Fold fold_;
  const std::optional<Element> carried_;
};

class ReduceDataset final : public Dataset {
 public:
  explicit ReduceDataset(Fold fold) : fold_(std::move(fold)) {}
  int64_t cardinality() const override { return 1; }
  MaybeSpec spec() const override { return probed_spec(); }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  Fold fold_;
};

// The common base: processing of one element, and the state.
class FoldIterator : public Iterator {
 public:
  FoldIterator(const StageLabel& stage, IteratorPtr input, const Fold& fold, StageRandom random,
               const RunContext& context)
      : stage_(stage),
        input_(std::move(input)),
        function_(context.Called(fold.function)),
        folded_(stage.kind.c_str(), fold.initial),
        random_(random),
        cancel_(context.cancel) {}

  void VisitState(StateVisitor& visitor) override {
    // A value that cannot be saved is computed again from the first element on.
    int64_t again = folded_.opaque() ? index_ + again_ : 0;
    visitor.Count(again, "elements to be gone through again");
    if (!folded_.opaque()) {
      visitor.Count(index_, "elements pulled");
      folded_.VisitState(visitor);
    }
    int64_t back = folded_.opaque() ? index_ : 0;
    input_.VisitState(visitor, back + (folded_.interrupted() ? 1 : 0));
    if (!visitor.saving()) again_ = again;
  }

 protected:
  // Pulls one step; an element is replaced by the function's result.
  Step Pull() {
    while (again_ > 0) {
      Step step = PullOnce();
      if (auto* error = std::get_if<Error>(&step); error && error->transient()) return step;
      if (std::holds_alternative<End>(step)) return step;
      --again_;
    }
    return PullOnce();
  }
  // Accepts a result of the function, and returns the step to deliver for it. Throws if it is
  // invalid.
  virtual Step Take(Element result) = 0;

  const StageLabel& stage_;
  Input input_;
  const FunctionPtr function_;
  Folded folded_;
  const StageRandom random_;
  const CancelToken cancel_;
  int64_t index_ = 0;  // input steps since again_ was counted
  int64_t again_ = 0;  // of these, delivered before the state was saved: to be computed again

 private:
  Origin origin_;  // of the last pulled element

  Step PullOnce() {
    if (cancel_.cancelled()) return Error(ErrorKind::kCancelled, "");
    Element element;
    if (!folded_.interrupted()) {
      if (!folded_.opaque()) {
        input_.Keep(input_.position());
        input_.Mark();
      }
      Step step = input_.Next();
      if (auto* error = std::get_if<Error>(&step)) {
        index_ += !error->transient();
        return step;
      }
      if (std::holds_alternative<End>(step)) return step;
      element = std::get<Element>(std::move(step));
      origin_ = element.origin;
    }
    CallInfo info{&stage_, random_, index_};
    try {
      Element result = folded_.Call(*function_, info, std::move(element));
      ++index_;
      return Take(std::move(result));
    } catch (const Error& error) {
      if (error.transient()) return error;
      index_ = info.index + 1;
      if (error.failed_step()) return error;
      Error placed = error;
      return placed.In({stage_, info.index, ""}, origin_);
    }
  }
};

class ScanIterator final : public FoldIterator {
 public:
  using FoldIterator::FoldIterator;

 protected:
  Step DoNext() override { return Pull(); }

  // `result` is (new state, element).
  Step Take(Element result) override {
    const StructureRef pair = result.structure;
    bool tuple =
        pair->kind() == Structure::Kind::kTuple || pair->kind() == Structure::Kind::kNamedTuple;
    if (!tuple || pair->children().size() != 2) {
      throw Error(ErrorKind::kType, "scan: scan_func must return (new state, element), got {}",
                  pair->ToString());
    }
    const Structure* state = pair->children()[0];
    folded_.Set(state, result);
    Element out;
    out.structure = pair->children()[1];
    out.origin = result.origin;
    out.leaves.assign(std::make_move_iterator(result.leaves.begin() + state->leaves()),
                      std::make_move_iterator(result.leaves.end()));
    return out;
  }
};

class ReduceIterator final : public FoldIterator {
 public:
  using FoldIterator::FoldIterator;

  void VisitState(StateVisitor& visitor) override {
    visitor.Bool(over_);
    FoldIterator::VisitState(visitor);
  }

 protected:
  Step DoNext() override {
    if (over_) return End{};
    StopCheck stop(&cancel_);
    for (;;) {
      stop.Look();  // an infinite input must be closable, and Ctrl-C must stop it
      Step step = Pull();
      if (std::holds_alternative<Error>(step)) return step;
      if (std::holds_alternative<End>(step)) break;
    }
    over_ = true;
    return folded_.value();
  }

  Step Take(Element result) override {
    folded_.Set(result.structure, result);
    return Element();
  }

 private:
  bool over_ = false;
};

Fold FoldOf(const Args& args, const char* function) {
  return {args.Callable(function), args.Nested("initial_state")};
}

void ScanDataset::CarryState(StateVisitor* saved, int64_t& steps, std::string& out,
                             Carrying& carrying) const {
  int64_t again = 0, index = 0;
  SavedPosition input;
  if (saved) {
    saved->Count(again, "elements to be gone through again");
    saved->Count(index, "elements pulled");
    Folded("scan", fold_.initial).VisitState(*saved);
    input = SavedPosition::Read(*saved);
  }
  const int64_t after = steps;
  input.steps = StepsMore(input.steps, after);
  Carry(this->input(), input, carrying);
  steps = std::min(input.steps, after);
  index = std::min(StepsMore(index, after - steps), StateVisitor::kMostCount);
  StateVisitor to(&out);
  to.Count(again, "elements to be gone through again");
  to.Count(index, "elements pulled");
  Folded("scan", index > 0 ? *carried_ : fold_.initial).VisitState(to);
  input.Write(to);
}

IteratorPtr ScanDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<ScanIterator>(label(), StartInput(context.Replayed()), fold_,
                                        Randomness(context), context);
}

IteratorPtr ReduceDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<ReduceIterator>(label(), StartInput(context), fold_, Randomness(context),
                                          context);
}

const RegisterDataset scan_stage("scan",
                                 {.folds = true,
                                  .arguments = {{"initial_state", ArgumentForm::kValue},
                                                {"carried_state", ArgumentForm::kValue}}},
                                 [](const std::vector<DatasetPtr>&,
                                    const Args& args) -> std::shared_ptr<Dataset> {
                                   std::optional<Element> carried;
                                   if (args.Has("carried_state"))
                                     carried = args.Nested("carried_state");
                                   return std::make_shared<ScanDataset>(FoldOf(args, "scan_func"),
                                                                        std::move(carried));
                                 });
const RegisterDataset reduced_stage(
    "reduced",
    {.name = "reduce", .folds = true, .arguments = {{"initial_state", ArgumentForm::kValue}}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<ReduceDataset>(FoldOf(args, "reduce_func"));
    });

}  // namespace
}  // namespace penstock
