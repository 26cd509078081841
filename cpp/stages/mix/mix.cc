// sample_from_datasets and choose_from_datasets: draw elements from several inputs.
#include <algorithm>
#include <vector>

#include "data/block_size.h"
#include "data/whole_number.h"
#include "engine/registry.h"
#include "engine/sequence_key.h"
#include "engine/session.h"
#include "stages/mix/gathered_rows.h"
#include "stages/mix/weights.h"
#include "storage/stop_check.h"

namespace penstock {
namespace {

enum class Turns {
  kWeights,       // drawn with constant weights
  kGivenWeights,  // drawn with weights that the last input yields for each draw
  kGivenChoices,  // indices that the last input yields
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
    bool any = false, all = true;
    for (size_t i = 0; i < sources(); ++i) {
      if (options_.turns == Turns::kWeights && options_.weights[i] == 0) continue;
      const bool endless = input(i).cardinality() == kInfinite;
      any = any || endless;
      all = all && endless;
    }
    // If all inputs are infinite, every turn finds an element.
    if (all) return turns;
    bool goes_on = any && !options_.stop_on_empty && options_.turns == Turns::kWeights;
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
  // The number of inputs that provide elements; the last input may provide weights or indices
  // instead.
  size_t sources() const { return inputs().size() - (options_.turns != Turns::kWeights); }
  // Whether rows of all inputs can be in one block.
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
        ahead_(uniform_ && data.quiet() && !context.session->unordered() &&
               !context.session->options().debug),
        cancel_(context.cancel) {
    for (size_t i = 0; i < data.sources(); ++i) inputs_.emplace_back(data.StartInput(context, i));
    ended_.assign(inputs_.size(), 0);
    wanted_.assign(inputs_.size(), 0);
    left_ = inputs_.size();
    if (options_.turns != Turns::kWeights) turns_.emplace(data.StartInput(context, inputs_.size()));
    SetLottery();
  }

  void VisitState(StateVisitor& visitor) override {
    visitor.UInt(key_.value);
    visitor.Count(drawn_, "turns drawn");
    visitor.IntIn(chosen_, -1, StateVisitor::kMostCount, "the dataset whose turn it is");
    visitor.Bool(over_);
    visitor.IntsIn(ended_, 0, 1, "whether a dataset has ended");
    if (ended_.size() != inputs_.size() || chosen_ >= static_cast<int64_t>(inputs_.size())) {
      throw Error(ErrorKind::kInvalidArgument,
                  "set_state: the state was saved with {} datasets in {}, this pipeline has {}",
                  ended_.size(), name_, inputs_.size());
    }
    for (RowCursor& input : inputs_) input.VisitState(visitor);
    if (turns_) turns_->VisitState(visitor);
    if (visitor.saving()) return;
    left_ = static_cast<size_t>(std::count(ended_.begin(), ended_.end(), 0));
    bool goes_on = left_ == inputs_.size() || (left_ > 0 && !options_.stop_on_empty);
    visitor.Demand(over_ || goes_on, "it must be over after the end of its datasets");
    SetLottery();
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    const int64_t most = uniform_ ? std::min(max_rows, kMostBlockRows) : 1;
    ForgetPlan();
    std::optional<Step> none;
    while (!none && gathered_.rows() < most) {
      try {
        none = Turn(most - gathered_.rows());
      } catch (const Error& error) {  // not rethrown: there may be rows before it
        none = error;
      }
      if (none) break;
      const auto at = static_cast<size_t>(chosen_);
      if (!gathered_.Fits(inputs_[at], ahead_ ? most : 1)) break;  // the next block starts with it
      gathered_.Add(inputs_[at]);
      wanted_[at] = std::max<int64_t>(wanted_[at] - 1, 0);
      chosen_ = -1;
    }
    Block block = gathered_.Take();
    if (!none) return block;
    if (auto* error = std::get_if<Error>(&*none)) block.error = std::move(*error);
    block.end = std::holds_alternative<End>(*none);
    return block;
  }

 private:
  // Chooses inputs until the chosen one has a row; otherwise returns the reason. Up to `most` turns
  // may follow.
  std::optional<Step> Turn(int64_t most) {
    while (!over_) {
      if (chosen_ < 0) {
        if (auto none = Choose(most)) return none;
      }
      const auto at = static_cast<size_t>(chosen_);
      if (!ended_[at]) {
        Pull(inputs_[at], std::max<int64_t>(wanted_[at], 1));
        if (!inputs_[at].empty()) return std::nullopt;
        if (inputs_[at].failed()) {
          Error error = inputs_[at].TakeError();
          if (!error.transient()) chosen_ = -1;
          return error;
        }
        ended_[at] = 1;
        --left_;
        SetLottery();
      }
      chosen_ = -1;
      over_ = over_ || options_.stop_on_empty || left_ == 0;
      LookForStop();  // ended datasets may be chosen forever
    }
    return End{};
  }

  // Pulls until there is a row, an error or the end.
  static void Pull(RowCursor& rows, int64_t most) {
    while (rows.empty() && !rows.failed() && !rows.ended()) {
      rows.input().Keep(rows.position());
      rows.Pull(most);
    }
  }

  void LookForStop() {
    if (cancel_.cancelled()) throw Error(ErrorKind::kCancelled, "");
    if (++looks_ % 64 == 0) stop_.Look();
  }

  // Sets chosen_, or returns the reason why not.
  std::optional<Step> Choose(int64_t most) {
    if (options_.turns == Turns::kWeights) {
      if (plan_.empty()) Plan(most);
      chosen_ = plan_.back();
      plan_.pop_back();
      ++drawn_;
      return std::nullopt;
    }
    Pull(*turns_, ahead_ ? most : 1);
    if (turns_->empty()) {
      if (turns_->failed()) return turns_->TakeError();
      over_ = true;
      return End{};
    }
    if (options_.turns == Turns::kGivenChoices) {
      chosen_ = GivenChoice(most);
    } else {
      chosen_ = ByGivenWeights(turns_->Take());
    }
    return std::nullopt;
  }

  // Draws the next turns; the next one is stored last.
  void Plan(int64_t turns) {
    ForgetPlan();
    if (!ahead_) turns = 1;
    for (int64_t i = turns - 1; i >= 0; --i) {
      plan_.push_back(
          static_cast<int64_t>(lottery_.Draw(key_.DrawUnit(static_cast<uint64_t>(drawn_ + i)))));
      ++wanted_[static_cast<size_t>(plan_.back())];
    }
  }

  void ForgetPlan() {
    plan_.clear();
    counted_ = 0;
    std::fill(wanted_.begin(), wanted_.end(), 0);
  }

  // The number in this row; nullopt if it is not an integer.
  std::optional<int64_t> Number(int64_t row) const {
    const Block& block = turns_->block();
    if (!block.stacked()) return WholeNumber(block.elements[static_cast<size_t>(row)]);
    if (block.structure != Structure::Leaf()) return std::nullopt;
    return WholeNumber(block.columns[0].Row(row));
  }

  bool IsInput(int64_t number) const {
    return number >= 0 && number < static_cast<int64_t>(inputs_.size());
  }

  int64_t GivenChoice(int64_t most) {
    if (counted_ == 0) {
      ForgetPlan();
      counted_ = std::min(most, turns_->left());
      for (int64_t i = 0; i < counted_; ++i) {
        std::optional<int64_t> number = Number(turns_->next() + i);
        if (number && IsInput(*number)) ++wanted_[static_cast<size_t>(*number)];
      }
    }
    --counted_;
    std::optional<int64_t> number = Number(turns_->next());
    if (!number) throw NoNumber(name_, ElementSpec::Of(turns_->Take()));
    turns_->Pass();
    if (!IsInput(*number)) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: choice_dataset must give numbers in [0, {}), got {}", name_, inputs_.size(),
                  *number);
    }
    return *number;
  }

  int64_t ByGivenWeights(const Element& weights) {
    if (weights.leaves.size() != 1) {
      throw Error(ErrorKind::kType, "{}: elements of weights must be one array, got {}", name_,
                  weights.structure->ToString());
    }
    double unit = key_.DrawUnit(static_cast<uint64_t>(drawn_++));
    if (!lottery_.SetWeights(WeightsOf(name_ + ": weights", weights.leaves[0],
                                       static_cast<int64_t>(inputs_.size())))) {
      throw Error(ErrorKind::kInvalidArgument, "{}: one of the weights must be > 0, got only zeros",
                  name_);
    }
    return static_cast<int64_t>(lottery_.Draw(unit));
  }

  // Draw only inputs that have not ended. If none can be drawn, the stage is over.
  void SetLottery() {
    if (options_.turns != Turns::kWeights) return;
    ForgetPlan();
    std::vector<double> weights = options_.weights;
    for (size_t i = 0; i < weights.size(); ++i)
      if (ended_[i]) weights[i] = 0;
    if (!lottery_.SetWeights(weights)) over_ = true;
  }

  const MixOptions options_;
  const std::string name_;
  RandomKey key_;
  const bool uniform_;
  const bool ahead_;  // whether rows for later turns may be pulled early
  const CancelToken cancel_;
  StopCheck stop_{nullptr};
  int64_t looks_ = 0;
  std::vector<RowCursor> inputs_;
  std::optional<RowCursor> turns_;
  GatheredRows gathered_;
  Lottery lottery_;
  std::vector<int64_t> plan_;    // inputs of the planned turns, the next one last
  int64_t counted_ = 0;          // given choices that are counted in wanted_
  std::vector<int64_t> wanted_;  // rows of each input needed by planned turns
  std::vector<int64_t> ended_;   // 1 for inputs that have ended
  size_t left_ = 0;              // inputs that have not ended
  int64_t drawn_ = 0;
  int64_t chosen_ = -1;  // chosen input that has not been pulled yet
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

const RegisterDataset sample_from_datasets_stage("sample_from_datasets",
                                                 {.arguments = {{"weights", ArgumentForm::kValue}}},
                                                 MakeSample);
const RegisterDataset choose_from_datasets_stage("choose_from_datasets", MakeChoose);

}  // namespace
}  // namespace penstock
