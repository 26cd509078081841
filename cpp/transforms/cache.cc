// cache: the elements of the first full pass, kept in memory for the next ones.
#include <algorithm>
#include <mutex>
#include <optional>

#include "pipeline/chunk.h"
#include "pipeline/input.h"
#include "pipeline/random_access.h"
#include "pipeline/registry.h"

namespace penstock {
namespace {

// What outlives the iterators of one cache node. Complete once, then never changed.
struct Store {
  std::mutex mutex;  // a leaf lock over the pointer
  std::shared_ptr<const std::vector<Block>> blocks;
  std::vector<int64_t> ends;  // rows up to the end of each, once a position was asked for
  uint64_t place = 0;         // what the randomness of the pass that filled it hung on
  std::shared_ptr<const RunIdentity> identity;
};

// Gathers the blocks of a pass. Small rows of numbers are put together into large blocks, which are
// handed out again for the cost of copying them; the others stay as they came.
class Keeper {
 public:
  void Add(const Block& block) {
    if (!Small(block)) {
      Flush();
      blocks_.push_back(block.Part(0, block.rows));
      return;
    }
    for (int64_t row = 0; row < block.rows;) {
      int64_t added = builder_.Add(block, row, "cache");
      row += added;
      if (added == 0 || builder_.full()) Flush();
    }
  }
  std::vector<Block> Take() {
    Flush();
    return std::move(blocks_);
  }

 private:
  static bool Small(const Block& block) {
    constexpr size_t kSmallRow = 16 << 10;
    constexpr size_t kSmallBlock = 64 << 10;
    // A chunk does not hold from which file its elements are, which errors behind it would tell.
    if (block.from_files()) return false;
    if (block.stacked()) return Numbers(block.columns, kSmallBlock);
    return std::all_of(block.elements.begin(), block.elements.end(),
                       [](const Element& element) { return Numbers(element.leaves, kSmallRow); });
  }
  static bool Numbers(const std::vector<Tensor>& leaves, size_t most) {
    size_t bytes = 0;
    for (auto& leaf : leaves) {
      if (leaf.dtype().is_reference()) return false;
      bytes += leaf.nbytes();
    }
    return !leaves.empty() && bytes < most;
  }
  void Flush() {
    if (builder_.rows() == 0) return;
    ChunkForm form;
    BufferRef bytes = builder_.Take(&form);
    int64_t rows = form.rows;
    blocks_.push_back(ChunkRows(std::move(form), std::move(bytes)).Rows(0, rows));
  }

  std::vector<Block> blocks_;
  ChunkBuilder builder_{true};
};

class CacheDataset final : public Dataset, public RandomAccess {
 public:
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override { return input_spec(); }
  // A cache that is not complete keeps nothing of it.
  Step At(int64_t index, const RunContext& context) const override {
    std::unique_lock lock(store_->mutex);
    if (!store_->blocks) {
      lock.unlock();
      return InputAt(*this, index, context);
    }
    std::vector<int64_t>& ends = store_->ends;
    if (ends.empty()) {
      for (const Block& block : *store_->blocks) {
        ends.push_back((ends.empty() ? 0 : ends.back()) + block.rows);
      }
    }
    auto found =
        static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), index) - ends.begin());
    const Block& block = (*store_->blocks)[found];
    return block.Row(index - (ends[found] - block.rows));
  }
  const std::shared_ptr<Store>& store() const { return store_; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  std::shared_ptr<Store> store_ = std::make_shared<Store>();
};

class CacheIterator final : public BlockIterator {
 public:
  CacheIterator(std::shared_ptr<const CacheDataset> data, RunContext context)
      : data_(std::move(data)),
        context_(std::move(context)),
        place_(context_.place.value),
        identity_(*context_.identity) {
    std::lock_guard lock(data_->store()->mutex);
    if (data_->store()->blocks) {
      blocks_ = data_->store()->blocks;
      place_ = data_->store()->place;
      identity_ = *data_->store()->identity;
    }
  }

  void VisitState(StateVisitor& visitor) override {
    // Elements are never saved: a cache that is not there any more is filled again, by the same
    // randomness, and what was delivered is passed over on the way.
    visitor.UInt(place_);
    identity_.VisitState(visitor, *data_);
    int64_t steps = steps_ + to_pass_;
    visitor.Int(steps);
    if (visitor.saving()) return;
    to_pass_ = steps;
    steps_ = 0;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    while (to_pass_ > 0) {
      Block block = Advance(to_pass_);
      int64_t passed = block.rows + block.error.has_value();
      if (block.error && block.error->transient()) return block;
      if (passed == 0) break;
      to_pass_ -= passed;
    }
    return Advance(max_rows);
  }

 private:
  Block Advance(int64_t max_rows) {
    Block block = blocks_ ? Read(max_rows) : Fill(max_rows);
    steps_ += block.rows + (block.error && !block.error->transient());
    return block;
  }

  Block Read(int64_t max_rows) {
    if (at_ == blocks_->size()) return Block::AtEnd();
    const Block& stored = (*blocks_)[at_];
    if (row_ == 0 && !stored.stacked() && stored.rows == 1) return ReadElements(max_rows);
    int64_t rows = std::min(max_rows, stored.rows - row_);
    Block block = row_ == 0 && rows == stored.rows ? stored : stored.Part(row_, rows);
    row_ += rows;
    if (row_ == stored.rows) {
      ++at_;
      row_ = 0;
    }
    return block;
  }

  // Elements that were stored one by one, several at a time.
  Block ReadElements(int64_t max_rows) {
    Block block;
    block.structure = (*blocks_)[at_].structure;
    block.first = (*blocks_)[at_].first;
    for (; at_ < blocks_->size() && block.rows < max_rows; ++at_, ++block.rows) {
      const Block& stored = (*blocks_)[at_];
      if (stored.stacked() || stored.rows != 1) break;
      block.elements.push_back(stored.elements[0]);
    }
    block.end = at_ == blocks_->size();
    return block;
  }

  Block Fill(int64_t max_rows) {
    if (!input_) {
      RunContext context = context_;
      context.place = RandomKey{place_};
      context.identity = std::make_shared<const RunIdentity>(identity_);
      input_ = data_->StartInput(context);
      filling_.emplace();
    }
    if (finished_) return Block::AtEnd();
    Block block = input_->NextBlock(max_rows);
    // An element that failed is tried again by the next pass.
    if (block.error && !block.error->transient()) filling_.reset();
    if (filling_ && block.rows > 0) filling_->Add(block);
    rows_ += block.rows;
    finished_ = block.end;
    if (filling_ && (block.end || rows_ == data_->cardinality())) Complete();
    return block;
  }

  void Complete() {
    auto blocks = std::make_shared<const std::vector<Block>>(filling_->Take());
    filling_.reset();
    std::lock_guard lock(data_->store()->mutex);
    if (data_->store()->blocks) return;  // another was first
    data_->store()->place = place_;
    data_->store()->identity = std::make_shared<const RunIdentity>(identity_);
    data_->store()->blocks = std::move(blocks);
  }

  std::shared_ptr<const CacheDataset> data_;
  RunContext context_;
  uint64_t place_;
  RunIdentity identity_;
  std::shared_ptr<const std::vector<Block>> blocks_;  // complete: read from here
  size_t at_ = 0;
  int64_t row_ = 0;
  IteratorPtr input_;  // not complete yet: filled from here
  std::optional<Keeper> filling_;
  int64_t rows_ = 0;
  bool finished_ = false;
  int64_t steps_ = 0;
  int64_t to_pass_ = 0;
};

IteratorPtr CacheDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<CacheIterator>(
      std::static_pointer_cast<const CacheDataset>(shared_from_this()), context);
}

const RegisterDataset registration("cache",
                                   [](const std::vector<DatasetPtr>&,
                                      const Args&) -> std::shared_ptr<Dataset> {
                                     return std::make_shared<CacheDataset>();
                                   });

}  // namespace
}  // namespace penstock
