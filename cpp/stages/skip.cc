// skip: drops the first elements.
#include <algorithm>

#include "data/block_size.h"
#include "engine/random_access.h"
#include "engine/registry.h"

namespace penstock {
namespace {

class SkipDataset final : public Dataset, public RandomAccess {
 public:
  explicit SkipDataset(int64_t count) : count_(count) {}
  int64_t cardinality() const override {
    int64_t n = input().cardinality();
    if (count_ < 0) return 0;
    return n < 0 ? n : std::max<int64_t>(0, n - count_);
  }
  MaybeSpec spec() const override { return input_spec(); }
  Step At(int64_t index, const RunContext& context) const override {
    return InputAt(*this, index + count_, context);
  }
  Block Gather(const Positions& positions, const RunContext& context) const override {
    return InputsAt(*this, positions, context, [this](int64_t at) { return at + count_; });
  }
  Positions InputPositions(const Positions& positions, size_t, const RunContext&) const override {
    return Moved(positions, [this](int64_t at) { return at + count_; });
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  int64_t count_;  // negative: all
};

class SkipIterator final : public BlockIterator {
 public:
  SkipIterator(IteratorPtr input, int64_t count, bool jumps, CancelToken cancel)
      : input_(std::move(input)), left_(count), jumps_(jumps), cancel_(std::move(cancel)) {}

  void VisitState(StateVisitor& visitor) override {
    const int64_t all = left_;  // before the first step
    visitor.IntIn(left_, std::min<int64_t>(all, 0), std::max(all, StateVisitor::kMostCount),
                  "elements still to be skipped");
    VisitChild(visitor, *input_);
  }
  std::optional<Error> PassSound(int64_t& steps) override {
    return left_ == 0 ? input_->PassSound(steps) : Iterator::PassSound(steps);
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (left_ < 0) return Block::AtEnd();
    if (left_ > 0 && jumps_) {
      if (auto error = input_->Discard(left_)) return Block::Of(*std::move(error));
    }
    while (left_ > 0) {
      if (cancel_.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
      Block block = input_->NextBlock(std::min(left_, kMostBlockRows));
      left_ -= block.steps();
      if (block.error) return Block::Of(*std::move(block.error));
      if (block.end) return Block::AtEnd();
    }
    return input_->NextBlock(max_rows);
  }

 private:
  IteratorPtr input_;
  int64_t left_;
  bool jumps_;
  CancelToken cancel_;
};

IteratorPtr SkipDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<SkipIterator>(StartInput(context), count_, input().jumps(),
                                        context.cancel);
}

const RegisterDataset skip_stage("skip", {.of_positions = true},
                                 [](const std::vector<DatasetPtr>&,
                                    const Args& args) -> std::shared_ptr<Dataset> {
                                   return std::make_shared<SkipDataset>(args.Int("count"));
                                 });

}  // namespace
}  // namespace penstock
