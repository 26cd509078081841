// batch and rebatch: consecutive elements stacked along a new first axis.
#include <algorithm>
#include <numeric>
#include <vector>

#include "pipeline/input.h"
#include "pipeline/random_access.h"
#include "pipeline/registry.h"
#include "pipeline/stacker.h"

namespace penstock {
namespace {

class BatchDataset final : public Dataset, public RandomAccess {
 public:
  // Batches have these sizes in turn. `placed`: whether rows may be made where they belong.
  BatchDataset(std::vector<int64_t> sizes, bool drop, bool placed)
      : sizes_(std::move(sizes)), drop_(drop), placed_(placed) {}
  int64_t cardinality() const override {
    int64_t n = input().cardinality();
    if (n < 0) return n;
    int64_t batches = 0;
    int64_t left = n;
    auto once_round = [&] {
      for (int64_t size : sizes_) {
        if (left < size) return false;
        left -= size;
        ++batches;
      }
      return true;
    };
    if (once_round()) {
      int64_t round = n - left;
      batches += left / round * static_cast<int64_t>(sizes_.size());
      left %= round;
      once_round();
    }
    return batches + (left > 0 && !drop_);
  }
  MaybeSpec spec() const override {
    MaybeSpec in = input_spec();
    if (!in) return in;
    int64_t size = sizes_.front();
    int64_t n = drop_ ? 0 : input().cardinality();
    bool whole = n >= 0 && n % size == 0;
    for (int64_t other : sizes_) whole = whole && other == size;
    return in->Stacked(whole ? size : -1);
  }

  Step At(int64_t index, const RunContext& context) const override;

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  std::vector<int64_t> sizes_;
  bool drop_;
  bool placed_;
};

class BatchIterator final : public Iterator {
 public:
  BatchIterator(const char* stage, IteratorPtr input, std::vector<int64_t> sizes, bool drop)
      : input_(std::move(input)), sizes_(std::move(sizes)), drop_(drop), stacker_(stage) {}

  void VisitState(StateVisitor& visitor) override {
    // A batch half full (an error came in between): its elements are pulled again, and what has
    // failed before does not fail again. What waits behind the error has not been looked at yet.
    int64_t again = pulled_ + replay_ - rest_.rows - (error_ && !error_->transient());
    visitor.Int(again);
    input_.VisitState(visitor, pulled_);
    int64_t first = pulled_ == 0 ? index_ : first_;
    visitor.Int(first);
    visitor.Int(turn_);
    if (visitor.saving()) return;
    if (turn_ < 0 || turn_ >= static_cast<int64_t>(sizes_.size())) {
      throw Error(ErrorKind::kInvalidArgument,
                  "set_state: the state was saved after batch size number {} of the list, this "
                  "pipeline has {}; make the pipeline as it was",
                  turn_, sizes_.size());
    }
    replay_ = again;
    index_ = first;
  }

  std::optional<Error> Discard(int64_t& steps) override {
    if (sizes_ != std::vector<int64_t>{1}) return Iterator::Discard(steps);
    int64_t before = steps;
    auto error = input_.Discard(steps);
    first_ = index_ += before - steps;
    return error;
  }

 protected:
  Step DoNext() override {
    const int64_t size = sizes_[static_cast<size_t>(turn_)];
    if (pulled_ == 0) {
      first_ = index_;
      input_.Keep(input_.position());
      if (size == 1) input_.Mark();
    }
    stacker_.SetCapacity(size);
    while (stacker_.rows() < size) {
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
      int64_t want = replay_ > 0 ? 1 : size - stacker_.rows();
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
    if (stacker_.rows() == 0 || (drop_ && stacker_.rows() < size)) return End{};
    pulled_ = 0;
    turn_ = (turn_ + 1) % static_cast<int64_t>(sizes_.size());
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
  const std::vector<int64_t> sizes_;
  const bool drop_;
  Stacker stacker_;
  int64_t turn_ = 0;    // of the sizes: the one of the next batch
  int64_t index_ = 0;   // of the next row to be appended, in the input
  int64_t first_ = 0;   // the same for the first row of the batch
  int64_t pulled_ = 0;  // steps of the input since the last batch was full
  int64_t replay_ = 0;  // of these, seen before the state was saved
  Block rest_;
  std::optional<Error> error_;
  bool ended_ = false;
};

Step BatchDataset::At(int64_t index, const RunContext& context) const {
  const auto turns = static_cast<int64_t>(sizes_.size());
  int64_t first = index / turns * std::accumulate(sizes_.begin(), sizes_.end(), int64_t{0});
  first += std::accumulate(sizes_.begin(), sizes_.begin() + index % turns, int64_t{0});
  int64_t rows = sizes_[static_cast<size_t>(index % turns)];
  int64_t n = input().cardinality();
  if (n != kInfinite) rows = std::min(rows, n - first);
  Stacker stacker(name().c_str());
  stacker.SetCapacity(rows);
  Block rest;
  if (const Indexed* indexed = input().indexed()) {
    stacker.Append(indexed->Rows(first, rows), first, &rest);
    return stacker.Take();
  }
  for (int64_t row = first; row < first + rows; ++row) {
    Step step = InputAt(*this, row, context);
    auto* element = std::get_if<Element>(&step);
    if (!element) return step;
    if (auto error = stacker.Append(Block::Of(std::move(*element)), row, &rest)) return *error;
  }
  return stacker.Take();
}

IteratorPtr BatchDataset::MakeIterator(const RunContext& context) const {
  IteratorPtr input = StartInput(context, 0, placed_ ? sizes_.front() : 0);
  return std::make_unique<BatchIterator>(name().c_str(), std::move(input), sizes_, drop_);
}

// fused=False has rows made anywhere and copied here, for comparison: the results are the same.
const RegisterDataset batch(
    "batch", [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<BatchDataset>(std::vector{args.IntAtLeast("batch_size", 1)},
                                            args.Bool("drop_remainder"),
                                            !args.Has("fused") || args.Bool("fused"));
    });

// Its input is unbatch, which hands out rows as views: they are copied once, into the new batch.
const RegisterDataset rebatch(
    "rebatch", [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      const std::vector<int64_t>& sizes = args.Ints("batch_size");
      if (sizes.empty()) {
        throw Error(ErrorKind::kInvalidArgument,
                    "rebatch: batch_size must be an int or a list of them, got an empty list");
      }
      for (int64_t size : sizes) {
        if (size < 1) {
          throw Error(ErrorKind::kInvalidArgument, "rebatch: batch_size must be >= 1, got {}",
                      size);
        }
      }
      return std::make_shared<BatchDataset>(sizes, args.Bool("drop_remainder"), false);
    });

}  // namespace
}  // namespace penstock
