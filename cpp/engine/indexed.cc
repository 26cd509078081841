// Iterating over the rows of a source with random access.
#include "engine/indexed.h"

#include <algorithm>

#include "engine/dataset.h"

namespace penstock {
namespace {

class RowIterator final : public BlockIterator {
 public:
  RowIterator(DatasetPtr owner, const Indexed& rows) : owner_(std::move(owner)), rows_(rows) {}

  void VisitState(StateVisitor& visitor) override { visitor.Position(next_, rows_.size()); }
  std::optional<Error> Discard(int64_t& steps) override {
    next_ += std::min(rows_.size() - next_, steps);
    steps = 0;
    return std::nullopt;
  }
  std::optional<Error> Pass(int64_t& steps) override {
    const int64_t passed = std::min(rows_.size() - next_, steps);
    next_ += passed;
    steps -= passed;
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    int64_t count = std::min(max_rows, rows_.size() - next_);
    if (count <= 0) return Block::AtEnd();
    Block block = rows_.Rows(next_, count);
    next_ += block.steps();
    block.end = next_ == rows_.size();
    return block;
  }

 private:
  DatasetPtr owner_;
  const Indexed& rows_;
  int64_t next_ = 0;
};

}  // namespace

IteratorPtr MakeRowIterator(DatasetPtr owner, const Indexed& rows) {
  return std::make_unique<RowIterator>(std::move(owner), rows);
}

}  // namespace penstock
