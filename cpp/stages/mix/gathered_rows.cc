// Copies small rows individually into columns.
#include "stages/mix/gathered_rows.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

constexpr size_t kSmallRow = 1 << 10;  // bytes of all leaves; larger rows are not copied

// The bytes of a row in each column; empty if such rows should not be stacked.
std::vector<size_t> RowBytes(const Block& block) {
  std::vector<size_t> bytes;
  // A stacked block cannot record a different file for each row.
  if (!block.stacked() || block.from_files()) return bytes;
  size_t all = 0;
  for (const Tensor& column : block.columns) {
    if (column.dtype().is_reference()) return {};
    bytes.push_back(column.nbytes() / static_cast<size_t>(block.rows));
    all += bytes.back();
  }
  if (all > kSmallRow) bytes.clear();
  return bytes;
}

bool SameForm(const Block& one, const Block& other) {
  if (!other.stacked() || other.from_files() || one.structure != other.structure) return false;
  return std::equal(one.columns.begin(), one.columns.end(), other.columns.begin(),
                    other.columns.end(), [](const Tensor& a, const Tensor& b) {
                      bool same = a.dtype() == b.dtype() && a.shape().rank() == b.shape().rank();
                      for (int i = 1; same && i < a.shape().rank(); ++i)
                        same = a.shape()[i] == b.shape()[i];
                      return same;
                    });
}

}  // namespace

bool GatheredRows::Fits(const RowCursor& from, int64_t most) {
  const Block& block = from.block();
  if (block_.rows > 0) {
    if (stacks_) joins_ = SameForm(block_, block);
    return !stacks_ || joins_;
  }
  stacks_ = false;
  row_bytes_ = joins_ && most > 1 ? RowBytes(block) : std::vector<size_t>();
  if (row_bytes_.empty()) return true;
  std::vector<Column> columns;
  for (const Tensor& like : block.columns) {
    Shape shape = like.shape();
    shape[0] = most;
    columns.push_back(Tensor::Make(like.dtype(), shape));
  }
  block_.origins.keys.reserve(static_cast<size_t>(most));
  block_.columns = std::move(columns);
  stacks_ = true;
  return true;
}

void GatheredRows::Add(RowCursor& from) {
  if (block_.rows++ == 0) {
    block_.structure = from.block().structure;
    block_.origins.first = from.block().origin(from.next());
    if (stacks_) block_.origins.first.index = -1;  // following rows are of other inputs
  }
  if (!stacks_) {
    block_.elements.push_back(from.Take());
    block_.structure = block_.elements.front().structure;
    return;
  }
  const auto row = static_cast<size_t>(block_.rows - 1);
  const auto at = static_cast<size_t>(from.next());
  for (size_t i = 0; i < row_bytes_.size(); ++i) {
    const size_t bytes = row_bytes_[i];
    uint8_t* to = block_.columns[i].items.mutable_data() + row * bytes;
    const uint8_t* item = from.block().columns[i].items.data() + at * bytes;
    if (bytes == 8)
      std::memcpy(to, item, 8);
    else
      std::memcpy(to, item, bytes);
  }
  block_.origins.keys.push_back(from.block().key(from.next()));
  from.Pass();
}

Block GatheredRows::Take() {
  if (block_.rows == 0) {
    block_ = Block();
  } else if (stacks_) {
    for (Column& column : block_.columns) column = column.Slice(0, block_.rows);
  }
  return std::exchange(block_, Block());
}

}  // namespace penstock
