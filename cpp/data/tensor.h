// A C-contiguous array: buffer, dtype, inline shape. Small scalars are stored inside it.
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "data/buffer.h"
#include "data/dtype.h"

namespace penstock {

constexpr int kMaxRank = 8;

// The size of each axis; -1 if unknown (only in specs).
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(dims.begin(), dims.size()) {}
  Shape(const int64_t* dims, size_t rank);

  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[i]; }
  int64_t& operator[](int i) { return dims_[i]; }
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  int64_t elements() const {
    int64_t n = 1;
    for (int i = 0; i < rank_; ++i) n *= dims_[i];
    return n;
  }
  Shape Prepend(int64_t rows) const;
  Shape WithoutFirst() const { return {dims_.data() + 1, static_cast<size_t>(rank_ - 1)}; }
  // In Python syntax: "(3,)", "(None, 4)".
  std::string ToString() const;
  bool operator==(const Shape& other) const {
    return rank_ == other.rank_ &&
           std::memcmp(dims_.data(), other.dims_.data(), sizeof(int64_t) * rank_) == 0;
  }

 private:
  uint8_t rank_ = 0;
  std::array<int64_t, kMaxRank> dims_{};
};

// How the items of a tensor are stored.
enum class Storage : uint8_t {
  kDense,    // itemsize bytes each
  kPacked,   // strings: their start and end offsets (int64), and their bytes
  kObjects,  // foreign object pointers, owned by the buffer
};

class Tensor {
 public:
  Tensor() = default;
  // An allocator.
  using Memory = BufferRef (*)(size_t size);
  // Uninitialised dense memory.
  static Tensor Make(DType dtype, const Shape& shape, Memory memory = &Buffer::Allocate);
  static Tensor View(DType dtype, const Shape& shape, BufferRef buffer, size_t offset);
  // One string; copies the bytes.
  static Tensor String(TypeCode code, std::string_view bytes);
  // Several strings; copies the bytes.
  static Tensor Strings(TypeCode code, const Shape& shape, std::span<const std::string_view> items);
  // Item i is at [spans[2 i], spans[2 i + 1]) of `bytes`, which may have unused bytes in between.
  // The tensor starts with item `first` of the spans.
  static Tensor Packed(TypeCode code, const Shape& shape, BufferRef spans, BufferRef bytes,
                       size_t first = 0);
  static Tensor Objects(TypeCode code, const Shape& shape, BufferRef pointers, size_t first = 0);
  template <typename T>
  static Tensor Scalar(T value) {
    Tensor t;
    t.dtype_ = DTypeOf<T>();
    std::memcpy(t.inline_.data(), &value, sizeof(T));
    return t;
  }
  // A dense scalar of at most 16 bytes.
  static Tensor ScalarBytes(DType dtype, const void* item);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  Storage storage() const { return storage_; }
  int64_t elements() const { return shape_.elements(); }
  // Bytes of a dense tensor.
  size_t nbytes() const { return static_cast<size_t>(elements()) * dtype_.itemsize; }
  // Bytes held in memory, for budgets.
  size_t footprint() const;
  bool is_inline() const { return !buffer_; }
  const uint8_t* data() const { return buffer_ ? buffer_->data() + offset_ : inline_.data(); }
  // The caller must be the only owner of this memory.
  uint8_t* mutable_data() { return buffer_ ? buffer_->data() + offset_ : inline_.data(); }
  template <typename T>
  T value() const {
    T item;
    std::memcpy(&item, data(), sizeof(T));
    return item;
  }
  // Item i of bytes or text, in any storage.
  std::string_view string(int64_t i = 0) const {
    if (storage_ == Storage::kObjects) return ForeignString(i);
    auto* span =
        reinterpret_cast<const int64_t*>(spans_->data()) + 2 * (static_cast<int64_t>(offset_) + i);
    return {reinterpret_cast<const char*>(buffer_->data()) + span[0],
            static_cast<size_t>(span[1] - span[0])};
  }
  void* const* objects() const {  // kObjects only
    return reinterpret_cast<void* const*>(buffer_->data()) + offset_;
  }
  const BufferRef& buffer() const { return buffer_; }
  // Moves the memory out; the tensor must not be used afterwards.
  BufferRef take_buffer() { return std::move(buffer_); }
  size_t offset() const { return offset_; }

  // Row i along the first axis: a view (scalars are copied).
  Tensor Row(int64_t i) const;
  // Rows [first, first + count): a view.
  Tensor Rows(int64_t first, int64_t count) const;
  // A copy of the rows with these ascending indices.
  Tensor Take(const std::vector<int64_t>& rows) const;
  // The items of `parts`, in order, with shape `shape`. All have this dtype, except that arrays
  // without items may have another one. Strings are not copied if there is only one tensor and its
  // buffer holds little else.
  static Tensor Concat(DType dtype, const Shape& shape, const std::vector<const Tensor*>& parts);
  // A copy in memory that holds nothing else; not for foreign objects.
  Tensor Alone() const;
  // Makes it read-only for later consumers, even once they are the only owners of its memory.
  void BecomeConstant();
  // The same memory with another shape of equal size.
  Tensor Reshaped(const Shape& shape) const;

 private:
  std::string_view ForeignString(int64_t i) const;

  DType dtype_;
  Storage storage_ = Storage::kDense;
  Shape shape_;
  BufferRef buffer_;
  BufferRef spans_;
  size_t offset_ = 0;  // bytes; items for packed and objects
  std::array<uint8_t, 16> inline_{};
};

}  // namespace penstock
