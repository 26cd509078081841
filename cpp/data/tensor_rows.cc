// Selecting rows of a tensor, and concatenating tensors in new memory.
#include <cstring>
#include <string_view>
#include <vector>

#include "data/tensor.h"
#include "runtime/blocking.h"

namespace penstock {
namespace {

Tensor ConcatBytes(DType dtype, const Shape& shape, const std::vector<const Tensor*>& parts) {
  Tensor all = Tensor::Make(dtype, shape);
  LeaveForeignLockToCopy(all.nbytes());
  uint8_t* to = all.mutable_data();
  for (const Tensor* part : parts) {
    size_t bytes = part->nbytes();
    if (bytes) std::memcpy(to, part->data(), bytes);
    to += bytes;
  }
  return all;
}

Tensor ConcatObjects(DType dtype, const Shape& shape, const std::vector<const Tensor*>& parts) {
  if (parts.size() == 1) return parts[0]->Reshaped(shape);
  std::vector<BufferRef> owners;
  for (const Tensor* part : parts) owners.push_back(part->buffer());
  auto count = static_cast<size_t>(shape.elements());
  BufferRef pointers = Buffer::Allocate(count * sizeof(void*), std::move(owners));
  auto** to = reinterpret_cast<void**>(pointers->data());
  for (const Tensor* part : parts) {
    auto items = static_cast<size_t>(part->elements());
    if (items) std::memcpy(to, part->objects(), items * sizeof(void*));
    to += items;
  }
  return Tensor::Objects(dtype.code, shape, std::move(pointers));
}

Tensor ConcatStrings(DType dtype, const Shape& shape, const std::vector<const Tensor*>& parts) {
  size_t bytes = 0;
  for (const Tensor* part : parts) {
    for (int64_t i = 0; i < part->elements(); ++i) bytes += part->string(i).size();
  }
  // Strings in a single block stay there, unless a few would pin a large block.
  constexpr size_t kMostKept = 8;
  if (parts.size() == 1 && parts[0]->storage() == Storage::kPacked &&
      bytes * kMostKept >= parts[0]->buffer()->size()) {
    return parts[0]->Reshaped(shape);
  }
  auto count = static_cast<size_t>(shape.elements());
  BufferRef spans = Buffer::Allocate(2 * count * sizeof(int64_t));
  BufferRef text = Buffer::Allocate(bytes);
  auto* span = reinterpret_cast<int64_t*>(spans->data());
  int64_t at = 0;
  for (const Tensor* part : parts) {
    for (int64_t i = 0; i < part->elements(); ++i) {
      std::string_view item = part->string(i);
      if (!item.empty()) std::memcpy(text->data() + at, item.data(), item.size());
      *span++ = at;
      *span++ = at += static_cast<int64_t>(item.size());
    }
  }
  return Tensor::Packed(dtype.code, shape, std::move(spans), std::move(text));
}

// Consecutive rows are copied together.
std::vector<Tensor> RunsOf(const Tensor& column, const std::vector<int64_t>& chosen) {
  std::vector<Tensor> runs;
  for (size_t i = 0; i < chosen.size();) {
    size_t next = i + 1;
    while (next < chosen.size() && chosen[next] == chosen[next - 1] + 1) ++next;
    runs.push_back(column.Rows(chosen[i], static_cast<int64_t>(next - i)));
    i = next;
  }
  return runs;
}

}  // namespace

Tensor Tensor::Concat(DType dtype, const Shape& shape, const std::vector<const Tensor*>& parts) {
  if (!dtype.is_reference()) return ConcatBytes(dtype, shape, parts);
  bool objects = true;
  for (const Tensor* part : parts) objects = objects && part->storage() == Storage::kObjects;
  return objects ? ConcatObjects(dtype, shape, parts) : ConcatStrings(dtype, shape, parts);
}

Tensor Tensor::Take(const std::vector<int64_t>& chosen) const {
  Shape shape = shape_;
  const auto rows = static_cast<size_t>(shape[0]);
  shape[0] = static_cast<int64_t>(chosen.size());
  if (storage_ == Storage::kDense) {
    const size_t bytes = nbytes() / rows;
    Tensor some = Tensor::Make(dtype_, shape);
    uint8_t* to = some.mutable_data();
    for (int64_t row : chosen) {
      if (bytes) std::memcpy(to, data() + static_cast<size_t>(row) * bytes, bytes);
      to += bytes;
    }
    return some;
  }
  if (storage_ == Storage::kPacked) {
    const int64_t items = elements() / static_cast<int64_t>(rows);
    std::vector<std::string_view> strings;
    strings.reserve(static_cast<size_t>(shape.elements()));
    for (int64_t row : chosen) {
      for (int64_t i = row * items; i < (row + 1) * items; ++i) strings.push_back(string(i));
    }
    return Tensor::Strings(dtype_.code, shape, strings);
  }
  std::vector<Tensor> runs = RunsOf(*this, chosen);
  std::vector<const Tensor*> parts;
  for (const Tensor& run : runs) parts.push_back(&run);
  return Concat(dtype_, shape, parts);
}

}  // namespace penstock
