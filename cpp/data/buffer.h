// Reference-counted, 64-byte-aligned memory: from a recycling pool, or foreign memory with a
// releaser.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace penstock {

class BufferRef;

// One block of memory. Dropping its last reference returns it to its origin. It is never recycled
// earlier, because trainers (JAX on CPU, torch.from_numpy) alias the arrays they receive.
class Buffer {
 public:
  using Releaser = void (*)(void* context, void* data, size_t size);

  // Uninitialised memory from the pool, aligned to 64 bytes (2 MiB for sizes of 4 MiB or more).
  static BufferRef Allocate(size_t size);
  // Foreign memory; `release` runs on whichever thread drops the last reference.
  static BufferRef Borrow(void* data, size_t size, Releaser release, void* context);
  // The same for memory that others may read or that must not be written: it counts as shared.
  static BufferRef BorrowConstant(const void* data, size_t size, Releaser release, void* context);
  // Another buffer for the memory of `whole`, for the only user of a part of it; has its own count.
  // The caller guarantees that no one else refers to those bytes, now or later.
  static BufferRef Part(BufferRef whole);
  // The same for a user that may only read it: counts as shared.
  static BufferRef Constant(BufferRef whole);
  // Memory whose contents refer to other buffers; keeps them alive (rows of references stacked
  // without a copy).
  static BufferRef Allocate(size_t size, std::vector<BufferRef> owners);

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  bool foreign() const { return foreign_; }
  Releaser releaser() const { return release_; }
  void* context() const { return context_; }
  // Whether it must not be written, or others may read it.
  bool constant() const { return constant_; }
  // Whether the holder of this reference may write. acquire: pairs with the release in ~BufferRef,
  // so that the last owner sees all writes.
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
  Buffer* whole_ = nullptr;  // for a part: a reference to the whole
  Buffer* next_free_ = nullptr;
  uint64_t generation_ = 0;  // fork generation of its pool
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
    // acq_rel: the release half publishes this owner's writes, the acquire half makes the writes of
    // other owners visible.
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

// The recycling pool: four size classes per power of two, each last in, first out.
class BufferPool {
 public:
  struct Stats {
    int64_t bytes_in_use;
    int64_t bytes_idle;
  };
  static Stats stats();
  // Returns idle memory to the system.
  static void Trim();
  // Lowers the limit of idle bytes to `bytes`, if that is less than the current limit.
  static void LimitIdle(int64_t bytes);
};

}  // namespace penstock
