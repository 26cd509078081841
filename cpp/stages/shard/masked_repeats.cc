// Marks real elements, and replaces repeated ones by zeros.
#include "stages/shard/masked_repeats.h"

#include <algorithm>
#include <limits>

#include "engine/random_access.h"

namespace penstock {
namespace {

class MaskedRepeatsDataset final : public Dataset, public EvenShardingStage, public RandomAccess {
 public:
  MaskedRepeatsDataset(const EvenSharding& sharding, int64_t length)
      : EvenShardingStage(sharding), length_(length) {}
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override {
    MaybeSpec spec = input_spec();
    return spec ? MaskedSpec(*std::move(spec)) : spec;
  }
  Step At(int64_t index, const RunContext& context) const override {
    return Pads(sharding_.Taken(index, length_)) ? Padding(index, context)
                                                 : Real(InputAt(*this, index, context));
  }

  void CarryState(StateVisitor* saved, int64_t& steps, std::string& out,
                  Carrying& carrying) const override {
    const EvenSharding former = sharding_.Former(carrying, *this);
    int64_t round = 0;
    SavedPosition shard;
    if (saved) {
      former.VisitState(*saved);
      saved->Count(round, "elements distributed", length_);
      std::string child(saved->TextView());
      auto blob = std::make_shared<std::string>();
      StateVisitor(blob.get()).Text(child);
      shard.state = std::move(blob);
    }
    const int64_t all = steps;
    round = former.PassRounds(round, length_, steps);
    shard.steps = all - steps;
    Carry(input(), shard, carrying);
    StateVisitor to(&out);
    sharding_.VisitState(to);
    to.Count(round, "elements distributed");
    out += *shard.state;
  }

  // Whether this shard has no element in the round that starts at index `round`.
  bool Pads(int64_t round) const { return round >= length_ - sharding_.index; }
  int64_t length() const { return length_; }
  bool Ends(int64_t round) const { return round >= length_; }
  // The index at which the next round starts.
  int64_t After(int64_t round) const { return round + sharding_.Taken(1, length_ - round); }

  // Padding has the shape of this shard's last element; if there is none, or it failed, of the
  // element that was repeated for it. That element belongs to another shard, so it is only the
  // fallback: its cost and its errors belong to that shard.
  Step Padding(int64_t index, const RunContext& context) const {
    const int64_t first = std::max<int64_t>(index - 1, 0);
    for (int64_t at = first; at <= index; ++at) {
      Step step = InputAt(*this, at, context);
      if (auto* element = std::get_if<Element>(&step)) {
        return Masked(sharding_.PaddingLike(*element), false);
      }
      if (auto* error = std::get_if<Error>(&step); error && error->transient()) return step;
    }
    return AllFailed(index - first + 1);
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  const int64_t length_;
};

class MaskedRepeatsIterator final : public Iterator {
 public:
  MaskedRepeatsIterator(std::shared_ptr<const MaskedRepeatsDataset> data, RunContext context)
      : data_(std::move(data)), context_(std::move(context)), input_(data_->StartInput(context_)) {}

  void VisitState(StateVisitor& visitor) override {
    data_->sharding().VisitState(visitor);
    visitor.Count(round_, "elements distributed", data_->length());
    VisitChild(visitor, *input_);
  }

 protected:
  Step DoNext() override {
    Step step = data_->Pads(round_) ? Padding() : input_->Next();
    auto* error = std::get_if<Error>(&step);
    if (std::holds_alternative<End>(step) || (error && error->transient())) return step;
    const bool real = !data_->Pads(round_);
    round_ = data_->After(round_);
    return real ? Real(std::move(step)) : std::move(step);
  }

 private:
  Step Padding() {
    if (data_->Ends(round_)) return End{};
    Step padding = data_->Padding(round_ / data_->sharding().shards, context_);
    if (auto* error = std::get_if<Error>(&padding); error && error->transient()) return padding;
    int64_t one = 1;  // so that the input has the same position in all shards
    if (auto error = input_->Discard(one)) return *std::move(error);
    return padding;
  }

  std::shared_ptr<const MaskedRepeatsDataset> data_;
  RunContext context_;
  IteratorPtr input_;
  int64_t round_ = 0;
};

// Sequential: the index of an element determines whether it is padding.
IteratorPtr MaskedRepeatsDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<MaskedRepeatsIterator>(
      std::static_pointer_cast<const MaskedRepeatsDataset>(shared_from_this()), context.Replayed());
}

}  // namespace

std::shared_ptr<Dataset> MakeMaskedRepeats(const EvenSharding& sharding, int64_t length) {
  return std::make_shared<MaskedRepeatsDataset>(sharding, length);
}

}  // namespace penstock
