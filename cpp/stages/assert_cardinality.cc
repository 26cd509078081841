// assert_cardinality: the input, with a declared and checked number of elements.
#include <algorithm>

#include "engine/random_access.h"
#include "engine/registry.h"

namespace penstock {
namespace {

class AssertCardinalityDataset final : public Dataset, public RandomAccess {
 public:
  explicit AssertCardinalityDataset(int64_t expected) : expected_(expected) {}
  int64_t cardinality() const override { return expected_; }
  MaybeSpec spec() const override { return input_spec(); }
  Step At(int64_t index, const RunContext& context) const override {
    return InputAt(*this, index, context);
  }
  Positions InputPositions(const Positions& positions, size_t, const RunContext&) const override {
    return positions;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  int64_t expected_;
};

class AssertCardinalityIterator final : public BlockIterator {
 public:
  AssertCardinalityIterator(IteratorPtr input, int64_t expected)
      : input_(std::move(input)), expected_(expected) {}

  void VisitState(StateVisitor& visitor) override {
    // One element and the error after it are pulled before the stage reports that there are too
    // many.
    visitor.Count(count_, "elements pulled",
                  expected_ < 0 ? StateVisitor::kMostCount : StepsMore(expected_, 2));
    visitor.Bool(over_);
    VisitChild(visitor, *input_);
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (over_) return Block::AtEnd();
    bool finite = expected_ != kInfinite;
    if (finite && count_ > expected_) return Fail(TooMany());
    // After the last element, the input is pulled once more to check that it has ended.
    int64_t want = finite ? std::max<int64_t>(std::min(max_rows, expected_ - count_), 1) : max_rows;
    Block block = input_->NextBlock(want);
    bool full = count_ == expected_;
    count_ += block.steps();
    if (finite && count_ > expected_) {
      if (full) return Fail(TooMany());
      // An error followed the last element: only the error is one too many.
      block.error.reset();
      block.end = false;
      return block;
    }
    if (!block.end || count_ == expected_) return block;
    block.end = false;
    if (block.rows > 0 || block.error) return block;  // the next call reports the end
    return Fail(TooFew());
  }

 private:
  Block Fail(Error error) {
    over_ = true;
    return Block::Of(std::move(error));
  }

  Error TooMany() const {
    return Error(
        ErrorKind::kInvalidArgument,
        "assert_cardinality: {} elements were expected, the input has at least {}; correct "
        "the number, or take({}) first",
        expected_, expected_ + 1, expected_);
  }

  Error TooFew() const {
    if (expected_ == kInfinite) {
      return Error(ErrorKind::kInvalidArgument,
                   "assert_cardinality: elements without end were expected, the input has only {}",
                   count_);
    }
    return Error(ErrorKind::kInvalidArgument,
                 "assert_cardinality: {} elements were expected, the input has only {}", expected_,
                 count_);
  }

  IteratorPtr input_;
  const int64_t expected_;
  int64_t count_ = 0;  // elements and errors pulled
  bool over_ = false;  // the wrong number was reported
};

IteratorPtr AssertCardinalityDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<AssertCardinalityIterator>(StartInput(context), expected_);
}

const RegisterDataset assert_cardinality_stage(
    "assert_cardinality",
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      int64_t expected = args.Int("expected_cardinality");
      if (expected < 0 && expected != kInfinite) {
        throw Error(ErrorKind::kInvalidArgument,
                    "assert_cardinality: expected_cardinality must be >= 0 or "
                    "INFINITE_CARDINALITY, got {}",
                    expected);
      }
      return std::make_shared<AssertCardinalityDataset>(expected);
    });

}  // namespace
}  // namespace penstock
