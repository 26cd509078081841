// Reference-counted, 64-byte-aligned bytes: from a recycling pool, or foreign memory with a
// releaser.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace penstock {

class BufferRef;

// One block of memory. Its last reference gives it back to where it came from; it is recycled then
// and never earlier, because trainers (JAX on CPU, torch.from_numpy) alias what they were handed.
class Buffer {
 public:
  using Releaser = void (*)(void* context, void* data, size_t size);

  // Uninitialised memory from the pool, aligned to 64 bytes (2 MiB from 4 MiB on).
  static BufferRef Allocate(size_t size);
  // Foreign memory; `release` runs on whichever thread drops the last reference.
  static BufferRef Borrow(void* data, size_t size, Releaser release, void* context);
  // The same for memory that others may read too, or that no one may write: it counts as shared.
  static BufferRef BorrowConstant(const void* data, size_t size, Releaser release, void* context);
  // The memory of `whole` once more, for whoever alone uses a part of it: counts by itself. The
  // caller makes sure that no one else refers to those bytes, now or later.
  static BufferRef Part(BufferRef whole);
  // The same for whoever may only read it: counts as shared.
  static BufferRef Constant(BufferRef whole);
  // Memory that other buffers own: keeps them all alive (rows of references stacked without a
  // copy).
  static BufferRef Allocate(size_t size, std::vector<BufferRef> owners);

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  bool foreign() const { return foreign_; }
  Releaser releaser() const { return release_; }
  void* context() const { return context_; }
  // Whether no one may write, or others may read too.
  bool constant() const { return constant_; }
  // Whether the holder of this reference may write. acquire: pairs with the release in Unref, so
  // that the last owner sees all writes.
  bool unique() const { return refs_.load(std::memory_order_acquire) == 1 && !constant_; }

 private:
  friend class BufferRef;
  friend class BufferPool;
  Buffer() = default;
  ~Buffer() = default;
  void Destroy();

  std::atomic<int64_t> refs_{1};
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;  // of pool memory
  bool constant_ = false;
  bool foreign_ = false;
  Releaser release_ = nullptr;
  void* context_ = nullptr;
  std::vector<BufferRef>* owners_ = nullptr;
  Buffer* whole_ = nullptr;  // a reference, of a part
  Buffer* next_free_ = nullptr;
  uint64_t generation_ = 0;  // fork generation of the pool it came from
};

// A counted reference; empty by default.
class BufferRef {
 public:
  BufferRef() = default;
  BufferRef(const BufferRef& other) : buffer_(other.buffer_) {
    if (buffer_) buffer_->refs_.fetch_add(1, std::memory_order_relaxed);
  }
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferRef() {
    // acq_rel: the releasing half publishes this owner's writes, the acquiring half sees the
    // others'.
    if (buffer_ && buffer_->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) buffer_->Destroy();
  }

  Buffer* operator->() const { return buffer_; }
  Buffer* get() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }
  bool operator==(const BufferRef& other) const { return buffer_ == other.buffer_; }

 private:
  friend class Buffer;
  friend class BufferPool;
  explicit BufferRef(Buffer* adopted) : buffer_(adopted) {}
  Buffer* buffer_ = nullptr;
};

// The recycling pool: size classes of a quarter power of two, last in first out, as few as
// possible.
class BufferPool {
 public:
  struct Stats {
    int64_t bytes_in_use;
    int64_t bytes_idle;
  };
  static Stats stats();
  // Gives idle memory back to the system.
  static void Trim();
  // From now on at most so many bytes are idle, if that is less than before.
  static void LimitIdle(int64_t bytes);
};

}  // namespace penstock
