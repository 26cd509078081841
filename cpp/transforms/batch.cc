// batch: consecutive elements stacked along a new first axis.
#include <algorithm>

#include "pipeline/input.h"
#include "pipeline/registry.h"
#include "pipeline/stacker.h"

namespace penstock {
namespace {

class BatchDataset final : public Dataset {
 public:
  BatchDataset(int64_t size, bool drop) : size_(size), drop_(drop) {}
  int64_t cardinality() const override {
    int64_t n = input().cardinality();
    return n < 0 ? n : drop_ ? n / size_ : n / size_ + (n % size_ != 0);
  }
  MaybeSpec spec() const override {
    MaybeSpec in = input_spec();
    if (!in) return in;
    int64_t n = drop_ ? 0 : input().cardinality();
    bool whole = n >= 0 && n % size_ == 0;
    return in->Stacked(whole ? size_ : -1);
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  int64_t size_;
  bool drop_;
};

class BatchIterator final : public Iterator {
 public:
  BatchIterator(IteratorPtr input, int64_t size, bool drop)
      : input_(std::move(input)), size_(size), drop_(drop), stacker_("batch", size) {}

  void VisitState(StateVisitor& visitor) override {
    // A batch half full (an error came in between): its elements are pulled again, and what has
    // failed before does not fail again. What waits behind the error has not been looked at yet.
    int64_t again = pulled_ + replay_ - rest_.rows - (error_ && !error_->transient());
    visitor.Int(again);
    input_.VisitState(visitor, pulled_);
    int64_t first = pulled_ == 0 ? index_ : first_;
    visitor.Int(first);
    if (visitor.saving()) return;
    replay_ = again;
    index_ = first;
  }

  std::optional<Error> Discard(int64_t& steps) override {
    if (size_ != 1) return Iterator::Discard(steps);
    int64_t before = steps;
    auto error = input_.Discard(steps);
    first_ = index_ += before - steps;
    return error;
  }

 protected:
  Step DoNext() override {
    if (pulled_ == 0) {
      first_ = index_;
      input_.Keep(input_.position());
      if (size_ == 1) input_.Mark();
    }
    while (stacker_.rows() < size_) {
      if (rest_.rows > 0) {
        if (auto error = Append(std::exchange(rest_, Block()), false)) return *std::move(error);
        continue;
      }
      if (error_) {
        Error error = *std::exchange(error_, std::nullopt);
        if (error.transient()) return error;
        ++index_;
        if (stacker_.rows() == 0) pulled_ = 0;  // nothing is held
        return error;
      }
      if (ended_) break;
      int64_t want = replay_ > 0 ? 1 : size_ - stacker_.rows();
      int64_t before = input_.position();
      Block block = input_.NextBlock(want);
      pulled_ += input_.position() - before;
      ended_ = block.end;
      error_ = std::exchange(block.error, std::nullopt);
      bool told = replay_ > 0;
      replay_ = std::max<int64_t>(replay_ - block.rows, 0);
      if (error_ && !error_->transient() && replay_ > 0) {
        --replay_;
        ++index_;
        error_.reset();
      }
      if (block.rows > 0) {
        if (auto error = Append(std::move(block), told)) return *std::move(error);
      }
    }
    if (stacker_.rows() == 0 || (drop_ && stacker_.rows() < size_)) return End{};
    pulled_ = 0;
    return stacker_.Take();
  }

 private:
  // `told`: when it does not fit, that was said before the state was saved.
  std::optional<Error> Append(Block block, bool told) {
    int64_t rows = block.rows;
    auto error = stacker_.Append(std::move(block), index_, &rest_);
    index_ += rows - rest_.rows;
    if (told) error.reset();
    return error;
  }

  Input input_;
  int64_t size_;
  bool drop_;
  Stacker stacker_;
  int64_t index_ = 0;   // of the next row to be appended, in the input
  int64_t first_ = 0;   // the same for the first row of the batch
  int64_t pulled_ = 0;  // steps of the input since the last batch was full
  int64_t replay_ = 0;  // of these, seen before the state was saved
  Block rest_;
  std::optional<Error> error_;
  bool ended_ = false;
};

IteratorPtr BatchDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<BatchIterator>(StartInput(context, 0, size_), size_, drop_);
}

const RegisterDataset registration(
    "batch", [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<BatchDataset>(args.IntAtLeast("batch_size", 1),
                                            args.Bool("drop_remainder"));
    });

}  // namespace
}  // namespace penstock
