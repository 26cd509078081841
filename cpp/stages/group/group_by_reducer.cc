// group_by_reducer: folds all elements of each key into one value.
#include <algorithm>
#include <iterator>
#include <map>

#include "engine/input.h"
#include "engine/registry.h"
#include "stages/group/group_key.h"
#include "storage/stop_check.h"

namespace penstock {
namespace {

template <typename Callee>  // PlannedFunction in a plan, FunctionPtr in a run
struct Reducer {
  Callee key;
  Callee init;      // (key)
  Callee reduce;    // (state, element)
  Callee finalize;  // (state)
};

class ReducerDataset final : public Dataset {
 public:
  explicit ReducerDataset(Reducer<PlannedFunction> reducer) : reducer_(std::move(reducer)) {}
  int64_t cardinality() const override { return kUnknown; }
  MaybeSpec spec() const override { return probed_spec(); }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  Reducer<PlannedFunction> reducer_;
};

class ReducerIterator final : public Iterator {
 public:
  ReducerIterator(const StageLabel& stage, IteratorPtr input, Reducer<FunctionPtr> reducer,
                  StageRandom random, CancelToken cancel)
      : stage_(stage),
        input_(std::move(input)),
        reducer_(std::move(reducer)),
        random_(random),
        cancel_(std::move(cancel)) {}

  void VisitState(StateVisitor& visitor) override {
    // The states of keys may be any objects, so they are computed again from the first element.
    // Errors reported before are not repeated.
    int64_t steps = std::max(steps_, told_);
    visitor.Count(steps, "elements reduced");
    visitor.IntIn(given_, -1, StateVisitor::kMostCount, "results given");
    input_.VisitState(visitor, input_.position());
    if (visitor.saving()) return;
    told_ = steps;
    given_ = std::max<int64_t>(given_, 0);
  }

 protected:
  Step DoNext() override {
    StopCheck stop(&cancel_);
    while (!ended_) {
      stop.Look();  // an infinite input must be closable, and Ctrl-C must stop it
      if (auto error = Collect()) return *std::move(error);
    }
    if (given_ >= static_cast<int64_t>(states_.size())) return End{};
    auto state = std::next(states_.begin(), given_);
    Element last = state->second;
    last.origin.key = ChildKey(static_cast<uint64_t>(state->first), 1);
    CallInfo info{&stage_, random_, given_};
    try {
      Element result = CallForOne(*reducer_.finalize, std::move(last), info);
      result.origin = {static_cast<uint64_t>(state->first), given_++, nullptr, -1};
      return result;
    } catch (const Error& error) {
      if (!error.transient()) ++given_;
      throw;
    }
  }

 private:
  // Processes one more step of the input; returns its error unless it was already reported.
  std::optional<Error> Collect() {
    Step step = again_ ? *std::exchange(again_, std::nullopt) : input_.Next();
    ended_ = std::holds_alternative<End>(step);
    if (ended_) return std::nullopt;
    std::optional<Error> failure;
    if (auto* error = std::get_if<Error>(&step)) {
      failure = std::move(*error);
    } else {
      try {
        Reduce(std::get<Element>(step));
      } catch (const Error& error) {
        if (error.transient()) again_ = std::move(step);
        failure = error;
      }
    }
    if (failure && failure->transient()) return failure;
    if (steps_++ < told_) failure.reset();
    return failure;
  }

  void Reduce(const Element& element) {
    CallInfo info{&stage_, random_, steps_};
    int64_t key = CallForInt(*reducer_.key, "key_func", element, info);
    auto state = states_.find(key);
    if (state == states_.end()) {
      Element argument{{Tensor::Scalar(key)}, Structure::Leaf(), element.origin};
      argument.origin.key = ChildKey(static_cast<uint64_t>(key), 0);
      state = states_.emplace(key, CallForOne(*reducer_.init, std::move(argument), info)).first;
    }
    Element& old = state->second;
    Element both;
    both.structure = Structure::Tuple({old.structure, element.structure});
    both.origin = element.origin;
    both.leaves = old.leaves;
    both.leaves.insert(both.leaves.end(), element.leaves.begin(), element.leaves.end());
    Element made = CallForOne(*reducer_.reduce, std::move(both), info);
    ElementSpec before = ElementSpec::Of(old);
    ElementSpec after = ElementSpec::Of(made);
    if (!ElementSpec::Cover(before, after)) {
      Error error(ErrorKind::kType,
                  "{}: reduce_func must return a state of the structure and dtypes that it was "
                  "given, {}, got {}; have init_func return what reduce_func does",
                  stage_.kind, before.ToString(), after.ToString());
      throw error.In(FailedStepOf(info, 0, element), element.origin);
    }
    old = std::move(made);
  }

  const StageLabel& stage_;
  Input input_;
  const Reducer<FunctionPtr> reducer_;
  const StageRandom random_;
  const CancelToken cancel_;
  std::map<int64_t, Element> states_;  // results are ordered by key
  std::optional<Step> again_;          // the step to repeat, because a function was interrupted
  int64_t steps_ = 0;                  // input steps
  int64_t told_ = 0;                   // steps whose errors were reported before a restore
  int64_t given_ = 0;                  // results delivered
  bool ended_ = false;
};

IteratorPtr ReducerDataset::MakeIterator(const RunContext& context) const {
  Reducer<FunctionPtr> called{context.Called(reducer_.key), context.Called(reducer_.init),
                              context.Called(reducer_.reduce), context.Called(reducer_.finalize)};
  return std::make_unique<ReducerIterator>(label(), StartInput(context.Replayed()),
                                           std::move(called), Randomness(context), context.cancel);
}

const RegisterDataset group_by_reducer_stage(
    "group_by_reducer",
    {.folds = true,
     .arguments = {{"init_func", ArgumentForm::kFunction},
                   {"reduce_func", ArgumentForm::kFunction},
                   {"finalize_func", ArgumentForm::kFunction}}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<ReducerDataset>(
          Reducer<PlannedFunction>{args.Callable("key_func"), args.Callable("init_func"),
                                   args.Callable("reduce_func"), args.Callable("finalize_func")});
    });

}  // namespace
}  // namespace penstock
