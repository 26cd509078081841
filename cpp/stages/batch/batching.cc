// Filling batches: pulling rows, errors between them, and states within a batch.
#include "stages/batch/batching.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "engine/input.h"

namespace penstock {

bool GuessesShapes(const Dataset& dataset) {
  bool guesses = false;
  dataset.ForEachNode([&](const Dataset& node) { guesses |= node.probed_spec().has_value(); });
  return guesses;
}

int64_t BatchingDataset::cardinality() const {
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

int64_t BatchingDataset::fixed_rows() const {
  int64_t size = sizes_.front();
  int64_t n = drop_ ? 0 : input().cardinality();
  bool whole = n >= 0 && n % size == 0;
  for (int64_t other : sizes_) whole = whole && other == size;
  return whole ? size : -1;
}

namespace {

class BatchIterator final : public Iterator {
 public:
  BatchIterator(IteratorPtr input, std::unique_ptr<BatchRows> rows, std::vector<int64_t> sizes,
                bool drop)
      : input_(std::move(input)), sizes_(std::move(sizes)), drop_(drop), rows_(std::move(rows)) {}

  void VisitState(StateVisitor& visitor) override {
    // The elements of a partial batch (interrupted by an error) are pulled again, and errors
    // reported before are not repeated. Rows that follow the error have not been processed. Held
    // errors have not been reported, nor has anything after the first of them.
    int64_t again = held_.empty() ? pulled_ + replay_ - NotLookedAt() : reported_;
    visitor.Count(again, "steps pulled before");
    input_.VisitState(visitor, pulled_);
    int64_t first = pulled_ == 0 ? index_ : first_;
    visitor.Count(first, "elements pulled");
    visitor.IntIn(turn_, 0, StateVisitor::kMostCount, "the batch size whose turn it is");
    if (visitor.saving()) return;
    if (turn_ >= static_cast<int64_t>(sizes_.size())) {
      throw Error(ErrorKind::kInvalidArgument,
                  "set_state: the state was saved after batch size number {} of the list, this "
                  "pipeline has {}; make the pipeline as it was",
                  turn_, sizes_.size());
    }
    replay_ = reported_ = again;
    index_ = first;
  }

  std::optional<Error> Discard(int64_t& steps) override {
    if (sizes_ != std::vector<int64_t>{1}) return Iterator::Discard(steps);
    int64_t before = steps;
    auto error = input_.Discard(steps);
    first_ = index_ += before - steps;
    return error;
  }

  // Shortcut for a single batch size, at a batch boundary: a batch is a fixed number of rows.
  std::optional<Error> PassSound(int64_t& steps) override {
    const bool whole = pulled_ == 0 && replay_ == 0 && rest_.rows == 0 && held_.empty() && !error_;
    const int64_t size = sizes_.front();
    if (sizes_.size() > 1 || !whole || steps > std::numeric_limits<int64_t>::max() / size)
      return Iterator::PassSound(steps);
    int64_t rows = steps * size;
    const int64_t before = rows;
    auto error = input_.PassSound(rows);
    const int64_t passed = before - rows;
    first_ = index_ += passed;
    const int64_t partial = passed % size;
    steps -= passed / size + (partial > 0 && !error && !drop_);  // the last may have fewer
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
    rows_->SetCapacity(size);
    while (rows_->rows() < size) {
      if (auto error = NextHeld(size)) return *std::move(error);
      if (rest_.rows > 0) {
        if (auto error = Append(std::exchange(rest_, Block()), false)) return *std::move(error);
        continue;
      }
      if (error_) {
        Error error = *std::exchange(error_, std::nullopt);
        if (error.transient()) return error;
        ++index_;
        if (rows_->rows() == 0) pulled_ = 0;  // nothing is held
        if (!held_.empty()) {                 // wait for the held errors first
          held_.push_back({std::move(error), pulled_, false});
          continue;
        }
        reported_ = pulled_;
        return error;
      }
      if (ended_) break;
      int64_t want = replay_ > 0 ? 1 : size - rows_->rows();
      int64_t before = input_.position();
      Block block = input_.NextBlock(want);
      pulled_ += input_.position() - before;
      ended_ = block.end;
      error_ = std::exchange(block.error, std::nullopt);
      bool reported = replay_ > 0;
      replay_ = std::max<int64_t>(replay_ - block.rows, 0);
      if (error_ && !error_->transient() && replay_ > 0) {
        --replay_;
        ++index_;
        error_.reset();
      }
      if (block.rows > 0) {
        if (auto error = Append(std::move(block), reported)) return *std::move(error);
      }
    }
    if (auto error = NextHeld(size)) return *std::move(error);
    if (rows_->rows() == 0 || (drop_ && rows_->rows() < size)) return End{};
    pulled_ = reported_ = misfits_ = replay_ = 0;
    turn_ = (turn_ + 1) % static_cast<int64_t>(sizes_.size());
    const int64_t rows = rows_->rows();
    try {
      return rows_->Take();
    } catch (const std::bad_alloc&) {  // affects only this batch, which no longer holds rows
      return Error(ErrorKind::kMemory, "no memory for a batch of {} elements", rows);
    }
  }

 private:
  struct Held {
    Error error;
    int64_t step;  // index of the failed step since the last full batch, counted from 1
    bool misfit;
  };

  // Steps that were pulled but not processed.
  int64_t NotLookedAt() const { return rest_.rows + (error_ && !error_->transient()); }

  // `reported`: a misfit among these rows was reported before the state was saved.
  std::optional<Error> Append(Block&& block, bool reported) {
    int64_t rows = block.rows;
    auto error = rows_->Append(std::move(block), index_, &rest_);
    index_ += rows - rest_.rows;
    if (!error) return error;
    if (rows_->rows() == 0) {
      if (reported) return std::nullopt;
      pulled_ = NotLookedAt();  // nothing is held: continue from here
      reported_ = 0;
      first_ = index_;
      input_.Keep(input_.position() - pulled_);
      return error;
    }
    ++misfits_;
    if (reported) return std::nullopt;
    if (drop_) {
      held_.push_back({*std::move(error), pulled_ - NotLookedAt(), true});
      return std::nullopt;
    }
    reported_ = pulled_ - NotLookedAt();
    return error;
  }

  // A misfit row may belong to a remainder that is dropped. We only know that it does not once the
  // rows, counting those that do not fit, would fill the batch.
  std::optional<Error> NextHeld(int64_t size) {
    bool dropped = ended_ && NotLookedAt() == 0 && rows_->rows() + misfits_ < size;
    while (dropped && !held_.empty() && held_.front().misfit) held_.pop_front();
    if (held_.empty() || (!dropped && rows_->rows() + misfits_ < size)) return std::nullopt;
    Error error = std::move(held_.front().error);
    reported_ = held_.front().step;
    held_.pop_front();
    return error;
  }

  Input input_;
  const std::vector<int64_t> sizes_;
  const bool drop_;
  std::unique_ptr<BatchRows> rows_;
  int64_t turn_ = 0;       // index of the next batch's size
  int64_t index_ = 0;      // input index of the next row to append
  int64_t first_ = 0;      // of the first row of the batch
  int64_t pulled_ = 0;     // input steps since the last full batch
  int64_t replay_ = 0;     // of these, seen before the state was saved
  int64_t reported_ = 0;   // of these, up to the last one whose error was returned
  int64_t misfits_ = 0;    // rows that did not fit since the last full batch
  std::deque<Held> held_;  // errors held until it is known whether the batch is dropped
  Block rest_;
  std::optional<Error> error_;
  bool ended_ = false;
};

}  // namespace

std::string BatchingDataset::unfit() const {
  return sizes_.size() == 1 ? "" : "has batches of several sizes";
}

// Rows of a partial batch with a failed element are pulled again, including the error.
void BatchingDataset::CarryState(StateVisitor* saved, int64_t& steps, std::string& out,
                                 Carrying& carrying) const {
  int64_t again = 0, first = 0, turn = 0;
  SavedPosition input;
  if (saved) {
    saved->Count(again, "steps pulled before");
    input = SavedPosition::Read(*saved);
    saved->Count(first, "elements pulled");
    saved->IntIn(turn, 0, 0, "the batch size whose turn it is");
  }
  const int64_t size = carrying.Former(*this);
  constexpr int64_t kMost = StateVisitor::kMostCount;
  const int64_t rows = steps <= kMost / size ? steps * size : kMost;
  input.steps = StepsMore(input.steps, rows);
  Carry(this->input(), input, carrying);
  const int64_t passed = rows - std::min(input.steps, rows);
  const bool ended = passed < rows;
  const int64_t batches = passed / size + (passed % size > 0 && !drop_);
  steps = ended ? steps - std::min(steps, batches) : 0;
  again = 0;
  first = std::min(StepsMore(first, passed), kMost);
  StateVisitor to(&out);
  to.Count(again, "steps pulled before");
  input.Write(to);
  to.Count(first, "elements pulled");
  to.Int(turn);
}

IteratorPtr BatchingDataset::MakeIterator(const RunContext& context) const {
  IteratorPtr input = StartInput(context, 0, placed() ? sizes_.front() : 0, ragged());
  return std::make_unique<BatchIterator>(std::move(input), NewBatch(), sizes_, drop_);
}

BatchingDataset::Range BatchingDataset::RowsOf(int64_t index) const {
  const auto turns = static_cast<int64_t>(sizes_.size());
  int64_t first = index / turns * std::accumulate(sizes_.begin(), sizes_.end(), int64_t{0});
  first += std::accumulate(sizes_.begin(), sizes_.begin() + index % turns, int64_t{0});
  int64_t count = sizes_[static_cast<size_t>(index % turns)];
  int64_t n = input().cardinality();
  if (n != kInfinite) count = std::min(count, n - first);
  return {first, count};
}

Positions BatchingDataset::InputPositions(const Positions& positions, size_t,
                                          const RunContext&) const {
  Positions rows;
  for (int64_t index : positions) {
    const Range range = RowsOf(index);
    for (int64_t i = 0; i < range.count; ++i) rows.push_back(range.first + i);
  }
  return rows;
}

Step BatchingDataset::At(int64_t index, const RunContext& context) const {
  auto [first, count] = RowsOf(index);
  std::unique_ptr<BatchRows> rows = NewBatch();
  rows->SetCapacity(count);
  Block rest;
  if (const Indexed* indexed = input().indexed()) {
    for (const int64_t end = first + count; first < end;) {
      Block block = indexed->Rows(first, end - first);
      if (block.error) return *std::move(block.error);
      const int64_t row = std::exchange(first, first + block.rows);
      if (auto error = rows->Append(std::move(block), row, &rest)) return *error;
    }
    return rows->Take();
  }
  for (int64_t row = first; row < first + count; ++row) {
    Step step = InputAt(*this, row, context);
    auto* element = std::get_if<Element>(&step);
    if (!element) return step;
    if (auto error = rows->Append(Block::Of(std::move(*element)), row, &rest)) return *error;
  }
  return rows->Take();
}

}  // namespace penstock
