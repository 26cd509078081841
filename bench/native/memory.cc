// Buffers from the pool, and rows that become a batch.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "data/stacker.h"
#include "measure.h"

namespace penstock::bench {
namespace {

constexpr size_t kPage = 4096;
constexpr int64_t kRows = 256;

// As a batch uses memory: every page is written once, then it is given back.
void Touch(uint8_t* data, size_t size) {
  for (size_t at = 0; at < size; at += kPage) data[at] = 1;
  Keep(*data);
}

void AddBuffers(const char* theme, size_t size) {
  AddTimed(theme, "Buffer::Allocate", 1, [size] { Touch(Buffer::Allocate(size)->data(), size); });
  AddTimed(theme, "malloc and free", 1, [size] {
    auto* data = static_cast<uint8_t*>(std::malloc(size));
    Touch(data, size);
    std::free(data);
  });
}

// Rows as a function of a user returns them: each in memory of its own.
std::vector<Element> MakeRows(int64_t floats) {
  std::vector<Element> rows(kRows);
  for (Element& row : rows) {
    Tensor leaf = Tensor::Make(DTypeOf<float>(), {floats});
    std::memset(leaf.mutable_data(), 1, leaf.nbytes());
    row.leaves = {leaf};
  }
  return rows;
}

void Assemble(Block block) {
  static const StageLabel stage{"bench", "", ""};
  Stacker stacker(stage);
  stacker.SetCapacity(kRows);
  Block rest;
  stacker.Append(std::move(block), 0, &rest);
  Keep(stacker.Take());
}

void AddBatch(const char* theme, int64_t floats) {
  const std::vector<Element> rows = MakeRows(floats);
  const auto row_bytes = static_cast<size_t>(floats) * sizeof(float);
  const auto bytes = static_cast<int64_t>(row_bytes) * kRows;
  auto one_by_one = [rows] {
    Block block;
    block.rows = kRows;
    block.elements = rows;
    return block;
  };
  Tensor larger = Tensor::Make(DTypeOf<float>(), {2 * kRows, floats});
  std::memset(larger.mutable_data(), 1, larger.nbytes());
  auto view = [larger] {
    Block block;
    block.rows = kRows;
    block.columns = {larger.Rows(kRows / 2, kRows)};
    return block;
  };
  AddBytes(theme, "Stacker, rows one by one", bytes, one_by_one, Assemble);
  AddBytes(theme, "Stacker, a view of a larger batch", bytes, view, Assemble);
  AddBytes(theme, "memcpy to memory of the pool", bytes, [rows, row_bytes] {
    BufferRef out = Buffer::Allocate(row_bytes * kRows);
    for (size_t i = 0; i < rows.size(); ++i) {
      std::memcpy(out->data() + i * row_bytes, rows[i].leaves[0].data(), row_bytes);
    }
    Keep(*out->data());
  });
}

const Theme memory([] {
  AddBuffers("a buffer of 2 KiB", 2 << 10);
  AddBuffers("a buffer of 8 MiB", 8 << 20);
  AddBatch("a batch of 256 rows of 128 bytes", 32);
  AddBatch("a batch of 256 rows of 16 KiB", 4 << 10);
});

}  // namespace
}  // namespace penstock::bench
