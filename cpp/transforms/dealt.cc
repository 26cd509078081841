// Real elements as they are, and zeros in the place of those behind them.
#include "transforms/dealt.h"

#include "pipeline/random_access.h"

namespace penstock {
namespace {

class DealtDataset final : public Dataset, public RandomAccess {
 public:
  DealtDataset(const Dealing& dealing, int64_t length) : dealing_(dealing), length_(length) {}
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override {
    MaybeSpec spec = input_spec();
    return spec ? MaskedSpec(*std::move(spec)) : spec;
  }
  Step At(int64_t index, const RunContext& context) const override {
    return Mask(InputAt(*this, index, context), index * dealing_.shards);
  }
  // Of the round that begins with element number `round`.
  Step Mask(Step step, int64_t round) const {
    auto* element = std::get_if<Element>(&step);
    if (!element) return step;
    const bool real = length_ == kInfinite || round + dealing_.index < length_;
    if (real) return Masked(std::move(*element), true);
    return Masked(dealing_.PaddingLike(*element), false);
  }
  const Dealing& dealing() const { return dealing_; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  Dealing dealing_;
  int64_t length_;
};

class DealtIterator final : public Iterator {
 public:
  DealtIterator(std::shared_ptr<const DealtDataset> data, IteratorPtr input)
      : data_(std::move(data)), input_(std::move(input)) {}

  void VisitState(StateVisitor& visitor) override {
    data_->dealing().VisitState(visitor);
    visitor.Int(round_);
    visitor.Child(*input_);
  }

 protected:
  Step DoNext() override {
    Step step = input_->Next();
    auto* error = std::get_if<Error>(&step);
    if (std::holds_alternative<End>(step) || (error && error->transient())) return step;
    return data_->Mask(std::move(step), std::exchange(round_, round_ + data_->dealing().shards));
  }

 private:
  std::shared_ptr<const DealtDataset> data_;
  IteratorPtr input_;
  int64_t round_ = 0;
};

IteratorPtr DealtDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<DealtIterator>(
      std::static_pointer_cast<const DealtDataset>(shared_from_this()), StartInput(context));
}

}  // namespace

std::shared_ptr<Dataset> MakeDealt(const Dealing& dealing, int64_t length) {
  return std::make_shared<DealtDataset>(dealing, length);
}

}  // namespace penstock
