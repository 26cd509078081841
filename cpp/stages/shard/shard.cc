// shard: every num_shards-th element, starting at `index`.
#include "engine/random_access.h"
#include "engine/registry.h"

namespace penstock {
namespace {

class ShardDataset final : public Dataset, public RandomAccess {
 public:
  ShardDataset(int64_t shards, int64_t index) : shards_(shards), index_(index) {
    if (index < 0 || index >= shards) {
      throw Error(ErrorKind::kInvalidArgument,
                  "shard: index must be in [0, num_shards = {}), got {}", shards, index);
    }
  }
  int64_t cardinality() const override {
    int64_t n = input().cardinality();
    return n < 0 ? n : n / shards_ + (index_ < n % shards_);
  }
  MaybeSpec spec() const override { return input_spec(); }
  Step At(int64_t index, const RunContext& context) const override {
    return InputAt(*this, index * shards_ + index_, context);
  }
  Block Gather(const Positions& positions, const RunContext& context) const override {
    return InputsAt(*this, positions, context,
                    [this](int64_t at) { return at * shards_ + index_; });
  }
  Positions InputPositions(const Positions& positions, size_t, const RunContext&) const override {
    return Moved(positions, [this](int64_t at) { return at * shards_ + index_; });
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  int64_t shards_;
  int64_t index_;
};

class ShardIterator final : public Iterator {
 public:
  ShardIterator(IteratorPtr input, int64_t shards, int64_t index, CancelToken cancel)
      : input_(std::move(input)), shards_(shards), index_(index), cancel_(std::move(cancel)) {}

  void VisitState(StateVisitor& visitor) override {
    visitor.Count(position_, "elements pulled");
    VisitChild(visitor, *input_);
  }

 protected:
  Step DoNext() override {
    for (;;) {
      // With many shards, the next element may be far away.
      if (cancel_.cancelled()) return Error(ErrorKind::kCancelled, "");
      Step step = input_->Next();
      auto* error = std::get_if<Error>(&step);
      if (std::holds_alternative<End>(step) || (error && error->transient())) return step;
      bool mine = position_ % shards_ == index_;
      ++position_;
      if (mine) return step;  // errors of other shards' elements are not reported here
    }
  }

 private:
  IteratorPtr input_;
  int64_t shards_;
  int64_t index_;
  CancelToken cancel_;
  int64_t position_ = 0;
};

IteratorPtr ShardDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<ShardIterator>(StartInput(context), shards_, index_, context.cancel);
}

const RegisterDataset shard_stage("shard", {.of_positions = true},
                                  [](const std::vector<DatasetPtr>&,
                                     const Args& args) -> std::shared_ptr<Dataset> {
                                    return std::make_shared<ShardDataset>(
                                        args.IntAtLeast("num_shards", 1), args.Int("index"));
                                  });

}  // namespace
}  // namespace penstock
