// shuffle: over row indices if the input has random access, otherwise with a buffer of rows.
#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <new>
#include <vector>

#include "engine/random_access.h"
#include "engine/registry.h"
#include "engine/session.h"
#include "runtime/memory.h"
#include "stages/shuffle/reservoir.h"
#include "stages/shuffle/shuffle_buffer.h"
#include "storage/stop_check.h"

namespace penstock {
namespace {

// The order of `rows` rows. It stores an index per slot before the first draw.
ShuffledRows OrderOf(RandomKey key, int64_t size, int64_t rows) {
  constexpr int64_t kFew = 1 << 20;  // few enough to skip the check of available memory
  constexpr int64_t kMost = int64_t{1} << 40;
  constexpr int64_t kEach = sizeof(int64_t);
  const int64_t slots = std::min(size, rows);
  const int64_t available = slots <= kFew ? 0 : AvailableMemory();
  if (slots <= (available > 0 ? available / kEach : kMost)) {
    try {
      return ShuffledRows(key, size, rows);
    } catch (const std::bad_alloc&) {
    }
  }
  throw Error(ErrorKind::kMemory,
              "shuffle: a buffer of {} elements was asked for, and there is no memory for their "
              "positions ({} bytes each); use a smaller buffer_size",
              slots, kEach);
}

class ShuffleDataset final : public Dataset, public RandomAccess {
 public:
  ShuffleDataset(int64_t size, std::optional<uint64_t> seed, bool reshuffle, bool fused)
      : size_(size),
        seed_(seed),
        reshuffle_(reshuffle),
        fused_(fused),
        own_seed_(seed ? 0 : NextSessionSeed()) {}
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override { return input_spec(); }
  bool counts_runs() const override { return reshuffle_; }
  std::atomic<uint64_t>* own_seed() const override {
    return reshuffle_ || seed_ ? nullptr : &own_seed_;
  }
  Step At(int64_t index, const RunContext& context) const override {
    return InputAt(*this, PositionOf(index, Key(context)), context);
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  RandomKey Key(const RunContext& context) const {
    // Without reshuffling, all epochs and runs of this dataset have one order.
    if (!reshuffle_) return RandomKey{seed_ ? *seed_ : context.identity->OwnSeed(*this)}.Fold(0);
    return Randomness(context).Key(seed_).Fold(
        static_cast<uint64_t>(context.identity->RunNumber(*this)));
  }

  // The input position of the element at position `index`.
  int64_t PositionOf(int64_t index, RandomKey key) const {
    std::lock_guard lock(order_mutex_);
    if (!order_ || order_key_ != key.value) {
      int64_t n = cardinality();
      order_ = OrderOf(key, size_, n == kInfinite ? std::numeric_limits<int64_t>::max() : n);
      order_key_ = key.value;
      positions_.clear();
    }
    order_->Draw(index + 1 - static_cast<int64_t>(positions_.size()), positions_);
    return positions_.at(static_cast<size_t>(index));
  }

  int64_t size_;
  std::optional<uint64_t> seed_;
  bool reshuffle_;
  bool fused_;                              // whether rows may be gathered by index
  mutable std::atomic<uint64_t> own_seed_;  // from a restored state, or from construction
  mutable std::mutex order_mutex_;  // a leaf lock; protects the following, derived from the plan
  mutable uint64_t order_key_ = 0;
  mutable std::optional<ShuffledRows> order_;
  mutable std::vector<int64_t> positions_;  // of the elements so far, in the order of order_key_
};

// With random access only indices are buffered, and rows are gathered.
class IndexShuffleIterator final : public BlockIterator {
 public:
  IndexShuffleIterator(DatasetPtr input, RandomKey key, int64_t size)
      : input_(std::move(input)),
        rows_(*input_->indexed()),
        key_(key),
        size_(size),
        order_(OrderOf(key, size, rows_.size())) {}

  void VisitState(StateVisitor& visitor) override {
    // The state is as if the input were read again from its beginning.
    int64_t pulled = order_.pulled();
    const auto waiting = static_cast<int64_t>(indices_.size());
    ShuffleState state{key_.value, order_.drawn() - waiting, pulled, false, 0, {}, pulled, pulled};
    state.Visit(visitor);
    StateTrail().VisitState(visitor, 0);
    if (visitor.saving()) return;
    visitor.Demand(state.drawn <= rows_.size(), "no more elements can be drawn than there are");
    key_.value = state.key;
    order_ = OrderOf(key_, size_, rows_.size());
    Draw(state.drawn);
  }

  std::optional<Error> Discard(int64_t& steps) override {
    const int64_t waiting = std::min(steps, static_cast<int64_t>(indices_.size()));
    indices_.erase(indices_.begin(), indices_.begin() + waiting);
    Draw(steps - waiting);
    steps = 0;
    return std::nullopt;
  }
  std::optional<Error> Pass(int64_t& steps) override {
    const int64_t left = rows_.size() - order_.drawn() + static_cast<int64_t>(indices_.size());
    int64_t passed = std::min(left, steps);
    steps -= passed;
    return Discard(passed);
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (indices_.empty()) order_.Draw(max_rows, indices_);
    if (indices_.empty()) return Block::AtEnd();
    const int64_t count = std::min(max_rows, static_cast<int64_t>(indices_.size()));
    Block block = rows_.Gather(indices_.data(), count);
    indices_.erase(indices_.begin(), indices_.begin() + block.steps());
    return block;
  }

 private:
  void Draw(int64_t steps) {
    StopCheck stop(nullptr);
    order_.Pass(steps, [&stop] { stop.Look(); });
  }

  DatasetPtr input_;
  const Indexed& rows_;
  RandomKey key_;
  int64_t size_;
  ShuffledRows order_;
  std::vector<int64_t> indices_;  // drawn but not delivered; a source may return fewer rows
};

IteratorPtr ShuffleDataset::MakeIterator(const RunContext& context) const {
  if (fused_ && input().indexed()) {
    return std::make_unique<IndexShuffleIterator>(inputs()[0], Key(context), size_);
  }
  return std::make_unique<ShuffleBuffer>(StartInput(context.Replayed()), Key(context), size_,
                                         input().cardinality(), context, label());
}

// kUnknown: as many as there are elements.
int64_t BufferSize(const Args& args, const Dataset& input) {
  if (args.Int("buffer_size") != kUnknown) return args.IntAtLeast("buffer_size", 1);
  if (input.cardinality() == kInfinite) {
    throw Error(ErrorKind::kInvalidArgument,
                "shuffle: all elements were asked for, and the input has no end; use a buffer_size "
                "of some elements");
  }
  return std::numeric_limits<int64_t>::max();
}

const RegisterDataset shuffle_stage("shuffle", {.of_positions = true, .share_states = {"fused"}},
                                    [](const std::vector<DatasetPtr>& inputs,
                                       const Args& args) -> std::shared_ptr<Dataset> {
                                      std::optional<uint64_t> seed;
                                      if (args.Has("seed"))
                                        seed = static_cast<uint64_t>(args.Int("seed"));
                                      // fused=False buffers elements even if indices would suffice,
                                      // for comparison.
                                      return std::make_shared<ShuffleDataset>(
                                          BufferSize(args, *inputs[0]), seed,
                                          args.Bool("reshuffle_each_iteration"),
                                          !args.Has("fused") || args.Bool("fused"));
                                    });

}  // namespace
}  // namespace penstock
