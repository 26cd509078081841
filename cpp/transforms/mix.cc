// sample_from_datasets and choose_from_datasets: several inputs, and what says whose turn it is.
#include <algorithm>
#include <vector>

#include "pipeline/iterator.h"
#include "pipeline/registry.h"
#include "pipeline/sequence_key.h"
#include "pipeline/stop_check.h"
#include "pipeline/weights.h"
#include "pipeline/whole_number.h"

namespace penstock {
namespace {

enum class Turns {
  kWeights,       // drawn by weights that stay the same
  kGivenWeights,  // drawn by weights that the last input gives for each
  kGivenChoices,  // numbers that the last input gives
};

struct MixOptions {
  Turns turns = Turns::kWeights;
  std::vector<double> weights;  // kWeights
  bool stop_on_empty = false;
};

class MixDataset final : public Dataset {
 public:
  MixDataset(MixOptions options, const SequenceKey& key)
      : options_(std::move(options)), key_(key) {}

  int64_t cardinality() const override {
    int64_t turns = options_.turns == Turns::kWeights ? kInfinite : inputs().back()->cardinality();
    int endless = 0;
    for (size_t i = 0; i < sources(); ++i) endless += input(i).cardinality() == kInfinite;
    // As many as there are turns, when each of them finds an element.
    if (endless == static_cast<int>(sources())) return turns;
    bool goes_on = endless > 0 && !options_.stop_on_empty && options_.turns == Turns::kWeights;
    return goes_on ? kInfinite : kUnknown;
  }
  MaybeSpec spec() const override {
    MaybeSpec cover = input_spec(0);
    for (size_t i = 1; cover && i < sources(); ++i) {
      MaybeSpec next = input_spec(i);
      if (!next) return std::nullopt;
      cover = ElementSpec::Cover(*cover, *next);
    }
    return cover;
  }
  bool counts_runs() const override { return true; }
  const MixOptions& options() const { return options_; }
  // Of elements; behind them may come the input that says whose turn it is.
  size_t sources() const { return inputs().size() - (options_.turns != Turns::kWeights); }
  // Whether rows of all of them can stand in one block.
  bool uniform() const {
    for (size_t i = 0; i < sources(); ++i) {
      MaybeSpec one = input_spec(i);
      if (!one || one->structure != input_spec(0)->structure) return false;
    }
    return true;
  }

  RandomKey Key(const RunContext& context) const { return key_.Of(*this, context); }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  MixOptions options_;
  SequenceKey key_;
};

Error NoNumber(const std::string& stage, const ElementSpec& came) {
  return Error(ErrorKind::kType, "{}: elements of choice_dataset must be one integer, got {}",
               stage, came.ToString());
}

class MixIterator final : public BlockIterator {
 public:
  MixIterator(const MixDataset& data, const RunContext& context)
      : options_(data.options()),
        name_(data.name()),
        key_(data.Key(context)),
        uniform_(data.uniform()),
        cancel_(context.cancel) {
    for (size_t i = 0; i < data.sources(); ++i) inputs_.push_back(data.StartInput(context, i));
    ended_.assign(inputs_.size(), 0);
    left_ = inputs_.size();
    if (options_.turns != Turns::kWeights) turns_ = data.StartInput(context, inputs_.size());
    SetLottery();
  }

  void VisitState(StateVisitor& visitor) override {
    visitor.UInt(key_.value);
    visitor.Int(drawn_);
    visitor.Int(chosen_);
    visitor.Bool(over_);
    visitor.Ints(ended_);
    if (ended_.size() != inputs_.size() || chosen_ < -1 ||
        chosen_ >= static_cast<int64_t>(inputs_.size())) {
      throw Error(ErrorKind::kInvalidArgument,
                  "set_state: the state was saved with {} datasets in {}, this pipeline has {}",
                  ended_.size(), name_, inputs_.size());
    }
    for (auto& input : inputs_) visitor.Child(*input);
    if (turns_) visitor.Child(*turns_);
    if (visitor.saving()) return;
    left_ = static_cast<size_t>(std::count(ended_.begin(), ended_.end(), 0));
    SetLottery();
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    Block block;
    while (block.rows < max_rows) {
      Step step;
      try {
        step = Pull();
      } catch (const Error& error) {  // not thrown on: there may be rows before it
        step = error;
      }
      if (auto* element = std::get_if<Element>(&step)) {
        if (block.rows++ == 0) {
          block.structure = element->structure;
          block.first = element->origin;
        }
        block.elements.push_back(std::move(*element));
        if (!uniform_) break;
        continue;
      }
      if (auto* error = std::get_if<Error>(&step)) block.error = std::move(*error);
      block.end = std::holds_alternative<End>(step);
      break;
    }
    return block;
  }

 private:
  Step Pull() {
    for (bool again = false; !over_; again = true) {
      if (again) LookForStop();  // turns may go to nobody for ever
      if (chosen_ < 0) {
        Step choice = Choose();
        if (!std::holds_alternative<Element>(choice)) return choice;
        continue;
      }
      auto at = static_cast<size_t>(chosen_);
      if (!ended_[at]) {
        Step step = inputs_[at]->Next();
        if (auto* error = std::get_if<Error>(&step); error && error->transient()) return step;
        if (!std::holds_alternative<End>(step)) {
          chosen_ = -1;
          return step;
        }
        ended_[at] = 1;
        --left_;
        if (options_.turns == Turns::kWeights) SetLottery();
      }
      chosen_ = -1;
      over_ = options_.stop_on_empty || left_ == 0;
    }
    return End{};
  }

  void LookForStop() {
    if (cancel_.cancelled()) throw Error(ErrorKind::kCancelled, "");
    if (++looks_ % 64 == 0) stop_.Look();
  }

  // Sets chosen_ and answers with an element, or answers why not.
  Step Choose() {
    if (options_.turns == Turns::kWeights) {
      chosen_ = static_cast<int64_t>(lottery_.Draw(Unit()));
      return Element();
    }
    Step turn = turns_->Next();
    if (std::holds_alternative<End>(turn)) over_ = true;
    auto* element = std::get_if<Element>(&turn);
    if (!element) return turn;
    if (options_.turns == Turns::kGivenChoices) {
      std::optional<int64_t> number = WholeNumber(*element);
      if (!number) throw NoNumber(name_, ElementSpec::Of(*element));
      if (*number < 0 || *number >= static_cast<int64_t>(inputs_.size())) {
        throw Error(ErrorKind::kInvalidArgument,
                    "{}: choice_dataset must give numbers in [0, {}), got {}", name_,
                    inputs_.size(), *number);
      }
      chosen_ = *number;
      return turn;
    }
    if (element->leaves.size() != 1) {
      throw Error(ErrorKind::kType, "{}: elements of weights must be one array, got {}", name_,
                  element->structure->ToString());
    }
    double unit = Unit();
    if (!lottery_.SetWeights(WeightsOf(name_ + ": weights", element->leaves[0],
                                       static_cast<int64_t>(inputs_.size())))) {
      throw Error(ErrorKind::kInvalidArgument, "{}: one of the weights must be > 0, got only zeros",
                  name_);
    }
    chosen_ = static_cast<int64_t>(lottery_.Draw(unit));
    return turn;
  }

  double Unit() { return key_.DrawUnit(static_cast<uint64_t>(drawn_++)); }

  // Only those that have not ended take part.
  void SetLottery() {
    if (options_.turns != Turns::kWeights) return;
    std::vector<double> weights = options_.weights;
    for (size_t i = 0; i < weights.size(); ++i)
      if (ended_[i]) weights[i] = 0;
    lottery_.SetWeights(weights);
  }

  const MixOptions options_;
  const std::string name_;
  RandomKey key_;
  const bool uniform_;
  const CancelToken cancel_;
  StopCheck stop_{nullptr};
  int64_t looks_ = 0;
  std::vector<IteratorPtr> inputs_;
  IteratorPtr turns_;
  Lottery lottery_;
  std::vector<int64_t> ended_;  // 1 for those that have
  size_t left_ = 0;             // that have not
  int64_t drawn_ = 0;
  int64_t chosen_ = -1;  // whose turn it is, when it has not been asked yet
  bool over_ = false;
};

IteratorPtr MixDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<MixIterator>(*this, context);
}

std::shared_ptr<Dataset> MakeMix(const std::vector<DatasetPtr>& inputs, MixOptions options,
                                 const Args& args) {
  size_t sources = inputs.size() - (options.turns != Turns::kWeights);
  MaybeSpec first = inputs[0]->spec();
  for (size_t i = 1; i < sources; ++i) {
    MaybeSpec other = inputs[i]->spec();
    if (first && other && !ElementSpec::Cover(*first, *other)) {
      throw Error(ErrorKind::kType,
                  "{}: all datasets must have the same structure and dtypes, got {} and {}",
                  args.owner(), first->ToString(), other->ToString());
    }
  }
  options.stop_on_empty = args.Bool("stop_on_empty_dataset");
  return std::make_shared<MixDataset>(std::move(options), SequenceKey(args));
}

std::shared_ptr<Dataset> MakeSample(const std::vector<DatasetPtr>& inputs, const Args& args) {
  MixOptions options;
  if (args.Has("weights")) {
    options.weights = WeightsOf("sample_from_datasets: weights", args.Nested("weights").leaves[0],
                                static_cast<int64_t>(inputs.size()));
  } else {
    options.turns = Turns::kGivenWeights;
  }
  return MakeMix(inputs, std::move(options), args);
}

std::shared_ptr<Dataset> MakeChoose(const std::vector<DatasetPtr>& inputs, const Args& args) {
  MixOptions options;
  options.turns = Turns::kGivenChoices;
  MaybeSpec numbers = inputs.back()->spec();
  if (numbers && !IsWholeNumber(*numbers)) throw NoNumber(args.owner(), *numbers);
  return MakeMix(inputs, std::move(options), args);
}

const RegisterDataset sample("sample_from_datasets", MakeSample);
const RegisterDataset choose("choose_from_datasets", MakeChoose);

}  // namespace
}  // namespace penstock
