// Iterating over rows in memory, block by block.
#include "engine/held_rows.h"

#include <algorithm>

#include "data/kept_rows.h"
#include "engine/registry.h"

namespace penstock {
namespace {

class HeldRows final : public Dataset {
 public:
  void Fill(std::vector<Block> blocks) {
    for (Block& block : blocks) {
      block.BecomeConstant();  // its rows are returned repeatedly while the dataset lives
      kept_.Add(std::move(block));
    }
  }
  int64_t cardinality() const override { return kept_.rows(); }
  MaybeSpec spec() const override {
    MaybeSpec all;
    for (const Block& block : kept_.blocks()) {
      int64_t different = block.stacked() ? 1 : block.rows;  // rows of columns have one shape
      for (int64_t row = 0; row < different; ++row) {
        ElementSpec one = ElementSpec::Of(block.Row(row));
        all = all ? ElementSpec::Cover(*all, one) : one;
        if (!all) return all;
      }
    }
    return all;
  }

  // Returns up to `max_rows` rows starting at `first`, which exists.
  Block Rows(int64_t first, int64_t max_rows) const {
    Block block = kept_.Slice(first, max_rows);
    block.Renumber(first);
    return block;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  KeptRows kept_;
};

class HeldRowsIterator final : public BlockIterator {
 public:
  explicit HeldRowsIterator(std::shared_ptr<const HeldRows> data) : data_(std::move(data)) {}

  void VisitState(StateVisitor& visitor) override { visitor.Position(next_, data_->cardinality()); }
  std::optional<Error> Discard(int64_t& steps) override {
    next_ += std::min(data_->cardinality() - next_, steps);
    steps = 0;
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (next_ == data_->cardinality()) return Block::AtEnd();
    Block block = data_->Rows(next_, max_rows);
    next_ += block.rows;
    block.end = next_ == data_->cardinality();
    return block;
  }

 private:
  std::shared_ptr<const HeldRows> data_;
  int64_t next_ = 0;
};

IteratorPtr HeldRows::MakeIterator(const RunContext&) const {
  return std::make_unique<HeldRowsIterator>(
      std::static_pointer_cast<const HeldRows>(shared_from_this()));
}

// Empty when created by kind; only HoldRows fills it.
const RegisterDataset elements_stage("elements",
                                     [](const std::vector<DatasetPtr>&,
                                        const Args&) -> std::shared_ptr<Dataset> {
                                       return std::make_shared<HeldRows>();
                                     });

}  // namespace

DatasetPtr HoldRows(std::vector<Block> blocks) {
  DatasetPtr made = MakeDataset("elements", {}, Args("elements"));
  // No other code has seen the dataset yet, so it may still be modified.
  const_cast<HeldRows&>(static_cast<const HeldRows&>(*made)).Fill(std::move(blocks));
  return made;
}

}  // namespace penstock
