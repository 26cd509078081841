// Joining plain bytes, strings and references to objects.
#include "data/join_items.h"

#include "runtime/blocking.h"

namespace penstock {
namespace {

Tensor JoinBytes(DType dtype, const Shape& shape, const std::vector<const Tensor*>& parts) {
  Tensor joined = Tensor::Make(dtype, shape);
  LeaveForeignLockToCopy(joined.nbytes());
  uint8_t* to = joined.mutable_data();
  for (const Tensor* part : parts) {
    size_t bytes = part->nbytes();
    if (bytes) std::memcpy(to, part->data(), bytes);
    to += bytes;
  }
  return joined;
}

Tensor JoinObjects(DType dtype, const Shape& shape, const std::vector<const Tensor*>& parts) {
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

Tensor JoinStrings(DType dtype, const Shape& shape, const std::vector<const Tensor*>& parts) {
  size_t bytes = 0;
  for (const Tensor* part : parts) {
    for (int64_t i = 0; i < part->elements(); ++i) bytes += part->string(i).size();
  }
  // Strings that lie in a block of their own stay there, unless few would keep a large one.
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

}  // namespace

Tensor JoinItems(DType dtype, const Shape& shape, const std::vector<const Tensor*>& parts) {
  if (!dtype.is_reference()) return JoinBytes(dtype, shape, parts);
  bool objects = true;
  for (const Tensor* part : parts) objects = objects && part->storage() == Storage::kObjects;
  return objects ? JoinObjects(dtype, shape, parts) : JoinStrings(dtype, shape, parts);
}

}  // namespace penstock
