// cache: keeps the elements of the first full pass in memory for later passes.
#include <algorithm>
#include <optional>

#include "data/block_size.h"
#include "engine/cache_fills.h"
#include "engine/held_bytes.h"
#include "engine/input.h"
#include "engine/random_access.h"
#include "engine/registry.h"
#include "engine/session.h"
#include "stages/cache/filling_pass.h"
#include "storage/chunk/chunk.h"

namespace penstock {
namespace {

// Collects the blocks of a pass. Small rows of numbers are combined into large blocks, which can be
// returned for the cost of a copy; other blocks are kept unchanged.
class Keeper {
 public:
  void Add(const Block& block) {
    if (!Small(block)) {
      Flush();
      return rows_.Add(block);
    }
    for (int64_t row = 0; row < block.rows;) {
      int64_t added = builder_.Add(block, row, "cache");
      row += added;
      if (added == 0 || builder_.full()) Flush();
    }
  }
  KeptRows Take() {
    Flush();
    return std::move(rows_);
  }

 private:
  static bool Small(const Block& block) {
    constexpr size_t kSmallRow = 16 << 10;
    constexpr size_t kSmallBlock = 64 << 10;
    // A chunk does not record the files of its elements, and later errors must name them.
    if (block.from_files()) return false;
    if (block.stacked()) return Numbers(block.columns, kSmallBlock);
    return std::all_of(block.elements.begin(), block.elements.end(),
                       [](const Element& element) { return Numbers(element.leaves, kSmallRow); });
  }
  template <typename Leaves>
  static bool Numbers(const Leaves& leaves, size_t most) {
    size_t bytes = 0;
    for (const Tensor& leaf : leaves) {
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
    rows_.Add(ChunkRows(std::move(form), std::move(bytes)).Rows(0, rows));
  }

  KeptRows rows_;
  ChunkBuilder builder_{true};
};

class CacheDataset final : public Dataset, public RandomAccess {
 public:
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override { return input_spec(); }
  // An incomplete cache keeps nothing.
  Step At(int64_t index, const RunContext& context) const override {
    CacheFillPtr fill = store_.fill();
    if (!fill) return InputAt(*this, index, context);
    if (CacheFill::Rows rows = fill->rows()) return rows->Slice(index, 1).Row(0);
    return InputAt(*this, index, fill->Of(context));  // restored, but not filled yet
  }
  Positions InputPositions(const Positions& positions, size_t, const RunContext&) const override {
    return store_.fill() ? Positions() : positions;
  }
  CacheStore* cache_store() const override { return &store_; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  mutable MemoryStore store_;  // thread-safe
};

class CacheIterator final : public BlockIterator {
 public:
  CacheIterator(std::shared_ptr<const CacheDataset> data, RunContext context)
      : data_(std::move(data)),
        context_(std::move(context)),
        fill_(context_.session->fills().For(*data_, context_)),
        kept_(fill_->rows()),
        held_(*context_.session, data_->label(), "give the cache a file name") {}

  void VisitState(StateVisitor& visitor) override {
    // Elements are never saved: a missing cache is filled again with the same randomness, and
    // elements that were already delivered are skipped.
    if (visitor.saving()) {
      fill_->VisitState(visitor);
    } else {
      // Does not tell the run about the fill: in the pass that fills it, an element may fail or
      // have failed.
      fill_ = context_.session->fills().Same(*data_, std::make_shared<CacheFill>(*data_, visitor));
      kept_ = fill_->rows();
    }
    int64_t steps = steps_ + to_pass_;
    visitor.Count(steps, "elements given");
    if (visitor.saving()) return;
    to_pass_ = steps;
    steps_ = 0;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    while (to_pass_ > 0) {
      if (context_.cancel.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
      Block block = Advance(std::min(to_pass_, kMostBlockRows));
      int64_t passed = block.rows + block.error.has_value();
      if (block.error && block.error->transient()) return block;
      if (passed == 0) break;
      to_pass_ -= passed;
    }
    return Advance(max_rows);
  }

 private:
  Block Advance(int64_t max_rows) {
    Block block = kept_ ? Read(max_rows) : Fill(max_rows);
    steps_ += block.steps();
    return block;
  }

  Block Read(int64_t max_rows) {
    if (row_ == 0 && held_.counts()) held_.Set(kept_->bytes());
    if (row_ == kept_->rows()) {
      Complete(kept_);
      return Block::AtEnd();
    }
    Block block = kept_->Slice(row_, max_rows);
    row_ += block.rows;
    // A pass that has read the fill to its end counts, for the run, as the pass that filled the
    // cache. So it completes at the same moment as a filling pass.
    if (row_ == kept_->rows() && data_->cardinality() >= 0) Complete(kept_);
    return block;
  }

  Block Fill(int64_t max_rows) {
    if (!input_) {
      input_ = data_->StartInput(fill_->Of(context_));
      filling_.emplace();
    }
    if (finished_) return Block::AtEnd();
    Block block = input_->NextBlock(max_rows);
    // The next pass tries failed elements again.
    if (block.error && !block.error->transient()) filling_.reset();
    if (filling_ && block.rows > 0) {
      if (held_.counts()) held_.Add(block.footprint());
      filling_->Add(block);
      block.BecomeConstant();  // like the rows of later passes
      if (auto excess = held_.Excess()) {
        filling_.reset();
        held_.Set(0);
        if (!block.error) block.error = std::move(excess);  // after the elements
        block.end = false;
      }
    }
    rows_ += block.rows;
    EndAlone(block);
    finished_ = block.end;
    if (filling_ && (block.end || rows_ == data_->cardinality())) {
      auto rows = std::make_shared<const KeptRows>(filling_->Take());
      filling_.reset();
      Complete(std::move(rows));
    }
    return block;
  }

  void Complete(CacheFill::Rows rows) {
    context_.session->fills().Complete(*data_, fill_, std::move(rows));
  }

  std::shared_ptr<const CacheDataset> data_;
  RunContext context_;
  CacheFillPtr fill_;
  CacheFill::Rows kept_;  // complete: read from here
  HeldBytes held_;        // of kept_, or of the rows being collected
  int64_t row_ = 0;
  IteratorPtr input_;  // incomplete: filled from here
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

const RegisterDataset cache_stage("cache", {.keeps_sizes = true, .replays = true},
                                  [](const std::vector<DatasetPtr>&,
                                     const Args&) -> std::shared_ptr<Dataset> {
                                    return std::make_shared<CacheDataset>();
                                  });

}  // namespace
}  // namespace penstock
