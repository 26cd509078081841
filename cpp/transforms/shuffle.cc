// shuffle: a reservoir of slots; each output is a uniform choice among them.
#include <algorithm>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "pipeline/fills_ahead.h"
#include "pipeline/input.h"
#include "pipeline/keep_alone.h"
#include "pipeline/random_access.h"
#include "pipeline/registry.h"
#include "pipeline/reservoir.h"
#include "pipeline/session.h"

namespace penstock {
namespace {

class ShuffleDataset final : public Dataset, public RandomAccess {
 public:
  ShuffleDataset(int64_t size, std::optional<int64_t> seed, bool reshuffle, bool fused)
      : size_(size),
        seed_(seed),
        reshuffle_(reshuffle),
        fused_(fused),
        own_seed_(NextSessionSeed()) {}
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override { return input_spec(); }
  bool counts_runs() const override { return reshuffle_; }
  Step At(int64_t index, const RunContext& context) const override {
    return InputAt(*this, PositionOf(index, Key(context)), context);
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  RandomKey Key(const RunContext& context) const {
    // Without reshuffling every epoch and every run of this dataset has one order.
    if (!reshuffle_)
      return RandomKey{seed_ ? static_cast<uint64_t>(*seed_) : own_seed_}.Fold(chain());
    StageRandom random = Randomness(context);
    if (seed_) random.seed = static_cast<uint64_t>(*seed_);
    return random.Key().Fold(static_cast<uint64_t>(context.identity->RunNumber(*this)));
  }

  // Where in the input the element is that comes at place `index`.
  int64_t PositionOf(int64_t index, RandomKey key) const {
    std::lock_guard lock(order_mutex_);
    if (!order_ || order_key_ != key.value) {
      int64_t n = cardinality();
      order_.emplace(key, size_, n == kInfinite ? std::numeric_limits<int64_t>::max() : n);
      order_key_ = key.value;
      positions_.clear();
    }
    order_->Draw(index + 1 - static_cast<int64_t>(positions_.size()), positions_);
    return positions_.at(static_cast<size_t>(index));
  }

  int64_t size_;
  std::optional<int64_t> seed_;
  bool reshuffle_;
  bool fused_;  // whether rows may be gathered by their indices
  uint64_t own_seed_;
  mutable std::mutex order_mutex_;  // a leaf lock over what follows, which the plan decides
  mutable uint64_t order_key_ = 0;
  mutable std::optional<ShuffledRows> order_;
  mutable std::vector<int64_t> positions_;  // of the elements so far, in the order of order_key_
};

// What a state holds, in the same layout for both iterators below.
struct ShuffleState {
  uint64_t key = 0;
  int64_t drawn = 0;
  int64_t items = 0;            // elements pulled
  bool ended = false;           // the input has
  int64_t forgotten = 0;        // how many of its steps had failed before
  std::vector<int64_t> failed;  // these
  int64_t pulled = 0;           // its steps, and
  int64_t back = 0;             // how many of them are pulled again

  void Visit(StateVisitor& visitor) {
    visitor.UInt(key);
    visitor.Int(drawn);
    visitor.Int(items);
    visitor.Bool(ended);
    visitor.Int(forgotten);
    visitor.Ints(failed);
    visitor.Int(pulled);
    visitor.Int(back);
  }
};

// Over data with random access only indices are buffered, and rows are gathered.
class IndexShuffleIterator final : public BlockIterator {
 public:
  IndexShuffleIterator(DatasetPtr input, RandomKey key, int64_t size)
      : input_(std::move(input)),
        rows_(*input_->indexed()),
        key_(key),
        size_(size),
        order_(key, size, rows_.size()) {}

  void VisitState(StateVisitor& visitor) override {
    // As if the input were read again from its beginning.
    int64_t pulled = order_.pulled();
    ShuffleState state{key_.value, order_.drawn(), pulled, false, 0, {}, pulled, pulled};
    state.Visit(visitor);
    StateTrail().VisitState(visitor, 0);
    if (visitor.saving()) return;
    key_.value = state.key;
    order_ = ShuffledRows(key_, size_, rows_.size());
    Pass(state.drawn);
  }

  std::optional<Error> Discard(int64_t& steps) override {
    Pass(steps);
    steps = 0;
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    indices_.clear();
    order_.Draw(max_rows, indices_);
    if (indices_.empty()) return Block::AtEnd();
    return rows_.Gather(indices_.data(), static_cast<int64_t>(indices_.size()));
  }

 private:
  void Pass(int64_t steps) {
    constexpr int64_t kSome = 4096;
    for (bool more = true; steps > 0 && more; steps -= kSome) {
      indices_.clear();
      order_.Draw(std::min(steps, kSome), indices_);
      more = !indices_.empty();
    }
  }

  DatasetPtr input_;
  const Indexed& rows_;
  RandomKey key_;
  int64_t size_;
  ShuffledRows order_;
  std::vector<int64_t> indices_;
};

class ShuffleIterator final : public BlockIterator, public FillsAhead {
 public:
  ShuffleIterator(IteratorPtr input, RandomKey key, int64_t size, CancelToken cancel)
      : input_(std::move(input)),
        key_(key),
        size_(size),
        slots_(key, size),
        cancel_(std::move(cancel)) {}

  void VisitState(StateVisitor& visitor) override {
    if (!visitor.saving()) return Restore(visitor);
    int64_t low = Low();
    ForgetFailures(base_ + low);
    // Restored and not asked yet: the input is not where it will be.
    int64_t pulled = std::max(base_ + position(), refill_until_);
    ShuffleState state{key_.value, slots_.drawn(), items_, ended_,
                       forgotten_, failed_,        pulled, pulled - base_ - low};
    state.Visit(visitor);
    input_.VisitState(visitor, input_.position() - low);
  }

  int64_t Draining() override {
    if (!ended_ || Refilling()) return 0;
    if (!slots_.empty() && !input_.retired()) input_.Retire();
    return static_cast<int64_t>(slots_.slots().size());
  }

  std::optional<Error> FillAhead(int64_t steps) override {
    Fill(std::min(steps, kMostRows), 0);
    bool stopped = ahead_.error && ahead_.error->transient();
    return stopped ? std::exchange(ahead_.error, std::nullopt) : std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (Refilling()) {
      if (auto error = Refill()) return Block::Of(*std::move(error));
    }
    max_rows = std::min(max_rows, kMostRows);
    Block out;
    while (out.rows < max_rows) {
      Fill(std::numeric_limits<int64_t>::max(), max_rows - out.rows - 1);
      if (!slots_.full() && !ended_) {  // an error is next
        if (out.rows == 0) return Block::Of(TakeError());
        break;
      }
      if (slots_.empty()) {
        out.end = true;
        break;
      }
      uint64_t choice = slots_.Choice();
      Element& element = slots_.slots()[choice].element;
      if (out.rows == 0) out.structure = element.structure;
      if (element.structure != out.structure) break;
      out.elements.push_back(std::move(element));
      ++out.rows;
      slots_.Draw(choice);
      // Going through the slots is as much work as refilling them all: once per so many draws.
      if (slots_.drawn() % size_ == 0) {
        int64_t low = Low();
        input_.Keep(low);
        ForgetFailures(base_ + low);
      }
    }
    if (out.rows > 0) out.first = out.elements[0].origin;
    return out;
  }

 private:
  static constexpr int64_t kMostRows = 1024;

  struct Held {
    int64_t position = 0;  // of its step in the input
    Element element;
  };

  // The steps of the input that have been looked at.
  int64_t position() const {
    int64_t error = ahead_.error && !ahead_.error->transient();
    return input_.position() - (ahead_.rows - ahead_row_) - error;
  }

  // Takes up to `steps` steps of the input, until the buffer is full, the input has ended, or an
  // error is next. Beyond the room that there is now, `more` will be taken before this returns to
  // the consumer, so they may be pulled at once.
  void Fill(int64_t steps, int64_t more) {
    while (!slots_.full() && !ended_) {
      if (ahead_row_ < ahead_.rows) {
        if (steps-- == 0) return;
        Element element =
            ahead_.stacked() ? ahead_.Row(ahead_row_) : std::move(ahead_.elements[ahead_row_]);
        KeepAlone(element);
        Held held{base_ + position(), std::move(element)};
        ++ahead_row_;
        slots_.Add(std::move(held));
        ++items_;
      } else if (ahead_.error) {
        return;
      } else if (ahead_.end) {
        ended_ = true;
      } else if (cancel_.cancelled()) {
        ahead_.error = Error(ErrorKind::kCancelled, "");
      } else if (steps > 0) {
        Pull(std::min({steps, slots_.room() + more, kMostRows}));
      } else {
        return;
      }
    }
  }

  // Rows that are pulled together are copied out of the memory they share (KeepAlone), so it is
  // done where they are small, and not with references to objects, which nobody here may copy.
  void Pull(int64_t rows) {
    constexpr int64_t kTogether = 64 << 10;  // bytes
    input_.Mark();
    ahead_ = input_.NextBlock(std::min(rows, together_));
    ahead_row_ = 0;
    if (ahead_.rows == 0) return;
    int64_t each = static_cast<int64_t>(ahead_.footprint()) / ahead_.rows;
    const auto& leaves = ahead_.stacked() ? ahead_.columns : ahead_.elements[0].leaves;
    bool objects = std::ranges::any_of(
        leaves, [](const Tensor& leaf) { return leaf.storage() == Storage::kObjects; });
    together_ = objects ? 1 : std::clamp<int64_t>(kTogether / (each + 1), 1, kMostRows);
  }

  Error TakeError() {
    int64_t at = base_ + position();
    Error error = *std::exchange(ahead_.error, std::nullopt);
    if (!error.transient()) failed_.push_back(at);
    return error;
  }

  // The input's position, in its own count, of the oldest element held.
  int64_t Low() const {
    int64_t low = position();
    for (auto& held : slots_.slots()) low = std::min(low, held.position - base_);
    return low;
  }

  // Behind the oldest element held nobody asks which positions failed, only how many.
  void ForgetFailures(int64_t low) {
    auto end = std::lower_bound(failed_.begin(), failed_.end(), low);
    forgotten_ += end - failed_.begin();
    failed_.erase(failed_.begin(), end);
  }

  // The choices are made again over the numbers of the elements alone; then the input, which stands
  // at the oldest element held, is read again up to where it was.
  void Restore(StateVisitor& visitor) {
    ShuffleState state;
    state.Visit(visitor);
    key_.value = state.key;
    items_ = state.items;
    ended_ = state.ended;
    forgotten_ = state.forgotten;
    failed_ = std::move(state.failed);
    input_.VisitState(visitor, 0);
    slots_ = Reservoir<Held>(key_, size_);
    int64_t item = 0;
    auto fill = [&] {
      while (!slots_.full() && item < items_) slots_.Add({item++, {}});
    };
    for (int64_t i = 0; i < state.drawn; ++i) {
      fill();
      if (slots_.empty()) break;
      slots_.Draw();
    }
    fill();
    base_ = state.pulled - state.back;
    refill_until_ = state.pulled;
    // From numbers to positions: those that failed have no number.
    std::vector<Held*> held;
    for (Held& one : slots_.slots()) held.push_back(&one);
    std::sort(held.begin(), held.end(), [](Held* a, Held* b) { return a->position < b->position; });
    auto failure = failed_.begin();
    int64_t failures = forgotten_;
    for (Held* one : held) {
      while (failure != failed_.end() && *failure <= one->position + failures)
        ++failure, ++failures;
      one->position += failures;
    }
    for (size_t i = 0; i < slots_.slots().size(); ++i) waiting_[slots_.slots()[i].position] = i;
  }

  bool Refilling() const { return base_ + position() < refill_until_; }

  std::optional<Error> Refill() {
    while (base_ + input_.position() < refill_until_ && !waiting_.empty()) {
      if (cancel_.cancelled()) return Error(ErrorKind::kCancelled, "");
      int64_t position = base_ + input_.position();
      Step step = input_.Next();
      if (auto* error = std::get_if<Error>(&step); error && error->transient()) return *error;
      if (std::holds_alternative<End>(step)) break;
      auto found = waiting_.find(position);
      if (found == waiting_.end() || !std::holds_alternative<Element>(step)) continue;
      Element& element = slots_.slots()[found->second].element;
      element = std::move(std::get<Element>(step));
      KeepAlone(element);
      waiting_.erase(found);
    }
    if (!waiting_.empty()) {
      waiting_.clear();
      refill_until_ = 0;
      return Error(ErrorKind::kRuntime,
                   "shuffle: the input has fewer elements than when the state was saved");
    }
    // What was pulled behind the last element held had failed, and was told.
    int64_t rest = refill_until_ - base_ - input_.position();
    if (rest > 0) return input_.Discard(rest);
    return std::nullopt;
  }

  Input input_;
  RandomKey key_;
  int64_t size_;
  Reservoir<Held> slots_;
  CancelToken cancel_;
  Block ahead_;  // pulled; its rows from ahead_row_ on have not been looked at
  int64_t ahead_row_ = 0;
  int64_t together_ = 1;  // rows that may be pulled at a time
  int64_t items_ = 0;     // elements looked at
  int64_t base_ = 0;      // steps before the input's own count began
  bool ended_ = false;
  std::vector<int64_t> failed_;  // positions of the input's errors, and
  int64_t forgotten_ = 0;        // how many there were before them
  int64_t refill_until_ = 0;
  std::unordered_map<int64_t, size_t> waiting_;  // after a restore: position to slot
};

IteratorPtr ShuffleDataset::MakeIterator(const RunContext& context) const {
  if (fused_ && input().indexed()) {
    return std::make_unique<IndexShuffleIterator>(inputs()[0], Key(context), size_);
  }
  return std::make_unique<ShuffleIterator>(StartInput(context.Replayed()), Key(context), size_,
                                           context.cancel);
}

const RegisterDataset registration(
    "shuffle", [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      std::optional<int64_t> seed;
      if (args.Has("seed")) seed = args.Int("seed");
      // fused=False buffers elements even where indices would do, for comparison.
      return std::make_shared<ShuffleDataset>(args.IntAtLeast("buffer_size", 1), seed,
                                              args.Bool("reshuffle_each_iteration"),
                                              !args.Has("fused") || args.Bool("fused"));
    });

}  // namespace
}  // namespace penstock
