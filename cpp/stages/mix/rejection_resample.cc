// rejection_resample: drops elements at random so that classes have the requested distribution.
#include <algorithm>
#include <limits>
#include <numeric>

#include "data/whole_number.h"
#include "engine/input.h"
#include "engine/registry.h"
#include "engine/sequence_key.h"
#include "stages/mix/weights.h"
#include "storage/stop_check.h"

namespace penstock {
namespace {

// Let t be the target share of a class and p its share in the input. The ratio r = t / p says how
// much more often the class should appear. A fraction min(r) of the results are unfiltered
// elements. The others come from a second pass over the input with a filter, which keeps a class
// with probability (r - min(r)) / (max(r) - min(r)). Together the classes have the shares t.
class Acceptance {
 public:
  Acceptance(const std::vector<double>& target, const std::vector<double>& initial) {
    std::vector<double> ratios;
    for (size_t i = 0; i < target.size(); ++i)
      ratios.push_back(target[i] / (initial[i] + std::numeric_limits<float>::min()));
    auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    unfiltered_ = *least;
    for (double ratio : ratios)
      kept_.push_back(*most > *least ? (ratio - *least) / (*most - *least) : 1.0);
  }
  double unfiltered() const { return unfiltered_; }
  double kept(int64_t number) const { return kept_[static_cast<size_t>(number)]; }

 private:
  double unfiltered_;
  std::vector<double> kept_;
};

void Normalize(std::vector<double>& shares) {
  double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
}

// It has the same input twice: unfiltered, and to be filtered.
class RejectionResampleDataset final : public Dataset {
 public:
  RejectionResampleDataset(PlannedFunction function, std::vector<double> target,
                           std::vector<double> initial, const SequenceKey& key)
      : function_(std::move(function)),
        target_(std::move(target)),
        initial_(std::move(initial)),
        key_(key) {}
  int64_t cardinality() const override {
    return input().cardinality() == kInfinite ? kInfinite : kUnknown;
  }
  MaybeSpec spec() const override {
    MaybeSpec spec = probed_spec(), in = input_spec();  // a pair: the class, the element
    if (!spec || !in || spec->leaves.size() != 1 + in->leaves.size()) return spec;
    std::copy(in->leaves.begin(), in->leaves.end(), spec->leaves.begin() + 1);
    return spec;
  }
  bool counts_runs() const override { return true; }
  const PlannedFunction& function() const { return function_; }
  const std::vector<double>& target() const { return target_; }
  const std::vector<double>& initial() const { return initial_; }
  RandomKey Key(const RunContext& context) const { return key_.Of(*this, context); }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  PlannedFunction function_;
  std::vector<double> target_;
  std::vector<double> initial_;  // empty: estimated
  SequenceKey key_;
};

class RejectionResampleIterator final : public Iterator {
 public:
  RejectionResampleIterator(std::shared_ptr<const RejectionResampleDataset> data,
                            const RunContext& context)
      : data_(std::move(data)),
        function_(context.Called(data_->function())),
        key_(data_->Key(context)),
        random_(data_->Randomness(context)),
        cancel_(context.cancel),
        seen_(data_->initial().empty() ? data_->target().size() : 0, kSeenBefore) {
    for (size_t i = 0; i < 2; ++i) passes_.emplace_back(data_->StartInput(context.Replayed(), i));
  }

  void VisitState(StateVisitor& visitor) override {
    visitor.UInt(key_.value);
    visitor.Count(drawn_, "numbers drawn");
    visitor.IntIn(chosen_, -1, kFiltered, "the pass of the next result");
    visitor.Bool(over_);
    auto classes = seen_.size();
    visitor.IntsIn(seen_, kSeenBefore, StateVisitor::kMostCount, "elements seen of a class");
    if (seen_.size() != classes) {
      throw Error(ErrorKind::kInvalidArgument,
                  "set_state: the state was saved with {} classes in rejection_resample, this "
                  "pipeline has {}",
                  seen_.size(), classes);
    }
    for (Pass& pass : passes_) {
      visitor.Count(pass.index, "elements pulled");
      pass.input.VisitState(visitor, pass.interrupted ? 1 : 0);
    }
  }

 protected:
  Step DoNext() override {
    StopCheck stop(&cancel_);
    while (!over_) {
      stop.Look();  // an infinite input that yields nothing must still be closable
      if (chosen_ < 0) chosen_ = Unit() < Shares().unfiltered() ? kUnfiltered : kFiltered;
      Pass& pass = passes_[static_cast<size_t>(chosen_)];
      Step step = Take(pass);
      if (std::holds_alternative<End>(step)) over_ = true;
      if (auto* error = std::get_if<Error>(&step)) {
        if (!error->transient()) chosen_ = -1;
        return step;
      }
      auto* element = std::get_if<Element>(&step);
      if (!element) continue;
      Result result;
      try {
        result = Classified(pass, std::move(*element));
      } catch (const Error& error) {
        if (!error.transient()) chosen_ = -1;
        throw;
      }
      if (chosen_ == kFiltered && Unit() >= Shares().kept(result.number)) continue;
      chosen_ = -1;
      return std::move(result.element);
    }
    return End{};
  }

 private:
  static constexpr int64_t kUnfiltered = 0;
  static constexpr int64_t kFiltered = 1;
  // Initial count of each class, so that the first elements do not produce a share of 0 or 1.
  static constexpr int64_t kSeenBefore = 10;

  struct Pass {
    explicit Pass(IteratorPtr iterator) : input(std::move(iterator)) {}
    Input input;
    std::optional<Element> interrupted;  // pulled; its class must be computed again
    int64_t index = 0;                   // of the next element
  };
  struct Result {
    int64_t number = 0;
    Element element;  // (class, element)
  };

  Step Take(Pass& pass) {
    if (pass.interrupted) return *std::exchange(pass.interrupted, std::nullopt);
    pass.input.Keep(pass.input.position());
    pass.input.Mark();
    Step step = pass.input.Next();
    if (auto* error = std::get_if<Error>(&step)) pass.index += !error->transient();
    return step;
  }

  Result Classified(Pass& pass, Element element) {
    CallInfo info{&data_->label(), random_, pass.index};
    std::vector<Block> answers;
    try {
      function_->Map(Block::Of(Element(element)), info, answers);
    } catch (const Error& error) {
      if (error.transient()) pass.interrupted = std::move(element);
      throw;
    }
    ++pass.index;
    Element answer;
    for (Block& block : answers) {
      if (block.error) throw *std::move(block.error);
      if (block.rows > 0) answer = block.Row(0);
    }
    std::optional<int64_t> number = WholeNumber(answer);
    auto classes = static_cast<int64_t>(data_->target().size());
    if (!number || *number < 0 || *number >= classes) {
      std::string came = number ? std::to_string(*number) : ElementSpec::Of(answer).ToString();
      Error error(ErrorKind::kInvalidArgument,
                  "rejection_resample: class_func must return an integer in [0, {}), got {}",
                  classes, came);
      throw error.In(FailedStepOf(info, 0, element), element.origin);
    }
    if (!seen_.empty()) {
      ++seen_[static_cast<size_t>(*number)];
      shares_.reset();
    }
    Result result{*number, {}};
    result.element.structure = Structure::Tuple({Structure::Leaf(), element.structure});
    result.element.origin = element.origin;
    result.element.leaves.push_back(std::move(answer.leaves[0]));
    std::move(element.leaves.begin(), element.leaves.end(),
              std::back_inserter(result.element.leaves));
    return result;
  }

  const Acceptance& Shares() {
    if (!shares_) {
      std::vector<double> initial = data_->initial();
      if (initial.empty()) {
        initial.assign(seen_.begin(), seen_.end());
        Normalize(initial);
      }
      shares_.emplace(data_->target(), initial);
    }
    return *shares_;
  }

  double Unit() { return key_.DrawUnit(static_cast<uint64_t>(drawn_++)); }

  const std::shared_ptr<const RejectionResampleDataset> data_;
  const FunctionPtr function_;
  RandomKey key_;
  const StageRandom random_;
  const CancelToken cancel_;
  std::vector<Pass> passes_;
  std::vector<int64_t> seen_;  // elements seen per class, if shares are estimated
  std::optional<Acceptance> shares_;
  int64_t drawn_ = 0;
  int64_t chosen_ = -1;  // the pass that provides the next result; -1: not drawn yet
  bool over_ = false;
};

IteratorPtr RejectionResampleDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<RejectionResampleIterator>(
      std::static_pointer_cast<const RejectionResampleDataset>(shared_from_this()), context);
}

std::vector<double> SharesOf(const Args& args, const std::string& name, int64_t count) {
  std::string argument = "rejection_resample: " + name;
  std::vector<double> shares = WeightsOf(argument, args.Nested(name).leaves[0], count);
  if (std::accumulate(shares.begin(), shares.end(), 0.0) <= 0) {
    throw Error(ErrorKind::kInvalidArgument, "{} must have a number > 0, got none", argument);
  }
  Normalize(shares);
  return shares;
}

const RegisterDataset rejection_resample_stage(
    "rejection_resample",
    {.arguments = {{"target_dist", ArgumentForm::kValue}, {"initial_dist", ArgumentForm::kValue}}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      std::vector<double> target = SharesOf(args, "target_dist", -1);
      std::vector<double> initial;
      if (args.Has("initial_dist"))
        initial = SharesOf(args, "initial_dist", static_cast<int64_t>(target.size()));
      for (size_t i = 0; i < initial.size(); ++i) {
        if (initial[i] == 0 && target[i] > 0) {
          throw Error(ErrorKind::kInvalidArgument,
                      "rejection_resample: class {} has share 0 in initial_dist, {} of it cannot "
                      "come; correct one of the two",
                      i, target[i]);
        }
      }
      return std::make_shared<RejectionResampleDataset>(
          args.Callable("class_func"), std::move(target), std::move(initial), SequenceKey(args));
    });

}  // namespace
}  // namespace penstock
