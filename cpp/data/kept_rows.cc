// Finding rows in blocks.
#include "data/kept_rows.h"

#include <algorithm>
#include <utility>

namespace penstock {

void KeptRows::Add(Block block) {
  block.error.reset();
  block.end = false;
  const int64_t count = block.rows;
  if (count == 0) return;
  if (blocks_.empty() || !blocks_.back().Concat(block)) {
    starts_.push_back(rows_);
    blocks_.push_back(std::move(block));
  }
  rows_ += count;
}

size_t KeptRows::bytes() const {
  size_t bytes = 0;
  for (const Block& block : blocks_) bytes += block.footprint();
  return bytes;
}

Block KeptRows::Slice(int64_t first, int64_t max_rows) const {
  auto after = std::upper_bound(starts_.begin(), starts_.end(), first);
  const auto number = static_cast<size_t>(after - starts_.begin()) - 1;
  const Block& block = blocks_[number];
  const int64_t begin = first - starts_[number];
  return block.Slice(begin, std::min(max_rows, block.rows - begin));
}

}  // namespace penstock
