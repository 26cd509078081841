// Views, rows and strings of tensors.
#include "data/tensor.h"

#include <vector>

#include "data/error.h"
#include "data/foreign.h"

namespace penstock {

Shape::Shape(const int64_t* dims, size_t rank) : rank_(static_cast<uint8_t>(rank)) {
  if (rank > kMaxRank) {
    throw Error(ErrorKind::kInvalidArgument, "array: at most {} axes are supported, got {}",
                kMaxRank, rank);
  }
  if (rank) std::memcpy(dims_.data(), dims, rank * sizeof(int64_t));
}

Shape Shape::Prepend(int64_t rows) const {
  std::array<int64_t, kMaxRank + 1> dims{};
  dims[0] = rows;
  for (int i = 0; i < rank_; ++i) dims[i + 1] = dims_[i];
  return {dims.data(), static_cast<size_t>(rank_) + 1};
}

std::string Shape::ToString() const {
  std::string text = "(";
  for (int i = 0; i < rank_; ++i) {
    if (i) text += ", ";
    text += dims_[i] < 0 ? "None" : std::to_string(dims_[i]);
  }
  return text + (rank_ == 1 ? ",)" : ")");
}

namespace {

// Throws if such an array exceeds any memory. Sizes may come from users.
void CheckBytes(DType dtype, const Shape& shape) {
  int64_t bytes = dtype.itemsize;
  bool fits = true, empty = false;
  for (int64_t n : shape.dims()) {
    empty = empty || n == 0;
    fits = fits && !__builtin_mul_overflow(bytes, n, &bytes);
  }
  if (!fits && !empty) {
    throw Error(ErrorKind::kMemory, "an array of {} of shape {} does not fit into memory",
                dtype.name(), shape.ToString());
  }
}

}  // namespace

Tensor Tensor::Make(DType dtype, const Shape& shape, Memory memory) {
  CheckBytes(dtype, shape);
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = shape;
  if (shape.rank() > 0 || dtype.itemsize > t.inline_.size()) t.buffer_ = memory(t.nbytes());
  return t;
}

Tensor Tensor::View(DType dtype, const Shape& shape, BufferRef buffer, size_t offset) {
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = shape;
  t.buffer_ = std::move(buffer);
  t.offset_ = offset;
  return t;
}

Tensor Tensor::String(TypeCode code, std::string_view bytes) {
  // One allocation for both.
  constexpr size_t kSpan = 2 * sizeof(int64_t);
  BufferRef buffer = Buffer::Allocate(kSpan + bytes.size());
  int64_t span[2] = {static_cast<int64_t>(kSpan), static_cast<int64_t>(kSpan + bytes.size())};
  std::memcpy(buffer->data(), span, kSpan);
  if (!bytes.empty()) std::memcpy(buffer->data() + kSpan, bytes.data(), bytes.size());
  return Packed(code, {}, buffer, buffer);
}

Tensor Tensor::Strings(TypeCode code, const Shape& shape, std::span<const std::string_view> items) {
  size_t bytes = 0;
  for (std::string_view item : items) bytes += item.size();
  BufferRef spans = Buffer::Allocate(2 * items.size() * sizeof(int64_t));
  BufferRef text = Buffer::Allocate(bytes);
  auto* span = reinterpret_cast<int64_t*>(spans->data());
  int64_t end = 0;
  for (std::string_view item : items) {
    if (!item.empty()) std::memcpy(text->data() + end, item.data(), item.size());
    *span++ = end;
    *span++ = end += static_cast<int64_t>(item.size());
  }
  return Packed(code, shape, std::move(spans), std::move(text));
}

Tensor Tensor::Packed(TypeCode code, const Shape& shape, BufferRef spans, BufferRef bytes,
                      size_t first) {
  Tensor t;
  t.dtype_ = DType::Of(code);
  t.storage_ = Storage::kPacked;
  t.shape_ = shape;
  t.spans_ = std::move(spans);
  t.buffer_ = std::move(bytes);
  t.offset_ = first;
  return t;
}

Tensor Tensor::Objects(TypeCode code, const Shape& shape, BufferRef pointers, size_t first) {
  Tensor t;
  t.dtype_ = DType::Of(code);
  t.storage_ = Storage::kObjects;
  t.shape_ = shape;
  t.buffer_ = std::move(pointers);
  t.offset_ = first;
  return t;
}

Tensor Tensor::ScalarBytes(DType dtype, const void* item) {
  if (dtype.itemsize > 16) {
    Tensor t = Make(dtype, {});
    std::memcpy(t.mutable_data(), item, dtype.itemsize);
    return t;
  }
  Tensor t;
  t.dtype_ = dtype;
  std::memcpy(t.inline_.data(), item, dtype.itemsize);
  return t;
}

size_t Tensor::footprint() const {
  if (storage_ != Storage::kPacked) return nbytes();
  size_t bytes = 0;
  int64_t count = elements();
  for (int64_t i = 0; i < count; ++i) bytes += string(i).size() + 2 * sizeof(int64_t);
  return bytes;
}

std::string_view Tensor::ForeignString(int64_t i) const {
  return TheForeignRuntime().String(objects()[i]);
}

Tensor Tensor::Row(int64_t i) const {
  if (storage_ == Storage::kDense && shape_.rank() == 1 && dtype_.itemsize <= 16) {
    return ScalarBytes(dtype_, data() + static_cast<size_t>(i) * dtype_.itemsize);
  }
  if (storage_ == Storage::kPacked && shape_.rank() == 1) {
    // A kept short string must not pin a whole block of strings.
    constexpr size_t kMostKept = 8;
    std::string_view item = string(i);
    if (item.size() * kMostKept < buffer_->size()) return String(dtype_.code, item);
  }
  return Rows(i, 1).Reshaped(shape_.WithoutFirst());
}

Tensor Tensor::Rows(int64_t first, int64_t count) const {
  Tensor t = *this;
  int64_t items = 1;
  for (int i = 1; i < shape_.rank(); ++i) items *= shape_[i];
  t.shape_[0] = count;
  t.offset_ +=
      static_cast<size_t>(first * items) * (storage_ == Storage::kDense ? dtype_.itemsize : 1);
  return t;
}

Tensor Tensor::Alone() const {
  if (storage_ == Storage::kDense) {
    Tensor copy = Make(dtype_, shape_);
    std::memcpy(copy.mutable_data(), data(), nbytes());
    return copy;
  }
  if (shape_.rank() == 0) return String(dtype_.code, string());
  std::vector<std::string_view> items(static_cast<size_t>(elements()));
  for (size_t i = 0; i < items.size(); ++i) items[i] = string(static_cast<int64_t>(i));
  return Strings(dtype_.code, shape_, items);
}

void Tensor::BecomeConstant() {
  if (!buffer_ || storage_ != Storage::kDense) return;
  buffer_ = Buffer::Constant(std::move(buffer_));
}

Tensor Tensor::Reshaped(const Shape& shape) const {
  Tensor t = *this;
  t.shape_ = shape;
  return t;
}

}  // namespace penstock
