// take: the first elements.
#include <algorithm>
#include <string>

#include "engine/random_access.h"
#include "engine/registry.h"

namespace penstock {
namespace {

class TakeDataset final : public Dataset, public RandomAccess {
 public:
  explicit TakeDataset(int64_t count) : count_(count) {}
  int64_t cardinality() const override {
    int64_t n = input().cardinality();
    if (count_ < 0 || n == kUnknown) return n;
    return n == kInfinite ? count_ : std::min(n, count_);
  }
  MaybeSpec spec() const override { return input_spec(); }
  Step At(int64_t index, const RunContext& context) const override {
    return InputAt(*this, index, context);
  }
  Block Gather(const Positions& positions, const RunContext& context) const override {
    return ElementsAt(input(), positions, context);
  }
  Positions InputPositions(const Positions& positions, size_t, const RunContext&) const override {
    return positions;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  int64_t count_;  // negative: all
};

class TakeIterator final : public BlockIterator {
 public:
  TakeIterator(IteratorPtr input, int64_t count) : input_(std::move(input)), count_(count) {}

  void VisitState(StateVisitor& visitor) override {
    visitor.Count(taken_, "elements taken", count_ < 0 ? StateVisitor::kMostCount : count_);
    if (input_)
      VisitChild(visitor, *input_);
    else
      visitor.Text(last_);
  }

  std::optional<Error> Pass(int64_t& steps) override { return PassBy(steps, &Iterator::Pass); }
  std::optional<Error> PassSound(int64_t& steps) override {
    return PassBy(steps, &Iterator::PassSound);
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (count_ < 0) return input_->NextBlock(max_rows);
    if (taken_ == count_) {
      Release();
      return Block::AtEnd();
    }
    Block block = input_->NextBlock(std::min(max_rows, count_ - taken_));
    // Failed elements count too: errors do not change which elements are taken.
    taken_ += block.steps();
    if (taken_ == count_ && !block.error) {
      block.end = true;
      Release();
    }
    return block;
  }

 private:
  std::optional<Error> PassBy(int64_t& steps, std::optional<Error> (Iterator::*pass)(int64_t&)) {
    if (!input_) return std::nullopt;
    int64_t wanted = count_ < 0 ? steps : std::min(steps, count_ - taken_);
    const int64_t before = wanted;
    auto error = ((*input_).*pass)(wanted);
    steps -= before - wanted;
    if (count_ >= 0) taken_ += before - wanted;
    return error;
  }

  // Closes generators and files, even if this iterator lives on.
  void Release() {
    if (!input_) return;
    last_ = ChildState(*input_);
    input_.reset();
  }

  IteratorPtr input_;  // null once all have been taken
  std::string last_;   // the state of input_ at that time
  int64_t count_;
  int64_t taken_ = 0;
};

IteratorPtr TakeDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<TakeIterator>(StartInput(context), count_);
}

const RegisterDataset take_stage("take", {.of_positions = true},
                                 [](const std::vector<DatasetPtr>&,
                                    const Args& args) -> std::shared_ptr<Dataset> {
                                   return std::make_shared<TakeDataset>(args.Int("count"));
                                 });

}  // namespace
}  // namespace penstock
