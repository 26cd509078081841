// The pool of recycled buffers.
#include "data/buffer.h"

#include <array>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include "runtime/fork.h"
#include "runtime/memory.h"
#include "runtime/platform.h"
#include "runtime/thread_pool.h"
#if defined(PENSTOCK_LINUX)
#include <sys/mman.h>
#endif

namespace penstock {
namespace {

constexpr size_t kAlign = 64;
constexpr size_t kHuge = size_t{2} << 20;
constexpr size_t kHugeFrom = size_t{4} << 20;
// Below this size malloc is as good, and idle memory is not worth keeping.
constexpr size_t kPooledFrom = size_t{16} << 10;
constexpr int64_t kIdleLimit = int64_t{512} << 20;
constexpr int kClasses = 4 * 48;
constexpr size_t kLargest = size_t{1} << 47;  // exceeds any address space; the last class
// Memory that stays idle in the pool for one to two of these periods is returned to the system.
constexpr int64_t kTimeIdleNs = 1'000'000'000;
constexpr int64_t kWorthTrimming = 1 << 20;  // bytes

// Four classes per power of two: rounding wastes at most a quarter.
int ClassOf(size_t size, size_t* capacity) {
  int log2 = std::bit_width(size) - 1;
  size_t step = (size_t{1} << log2) / 4;
  size_t quarter = (size - (size_t{1} << log2) + step - 1) / step;
  *capacity = (size_t{1} << log2) + quarter * step;
  return 4 * log2 + static_cast<int>(quarter);  // quarter 4 is class 0 of the next power
}

size_t AlignOf(size_t capacity) { return capacity >= kHugeFrom ? kHuge : kAlign; }

uint8_t* SystemAllocate(size_t capacity, [[maybe_unused]] size_t used) {
  size_t align = AlignOf(capacity);
  size_t rounded = (capacity + align - 1) / align * align;
  void* data = ::operator new(rounded, std::align_val_t(align));
#if defined(PENSTOCK_LINUX)
  // A fresh 4 KiB page costs about 2 us on a virtual machine; a huge page costs about 1/100 per
  // byte, but is always allocated as a whole. So the partly used end gets small pages.
  if (align == kHuge) madvise(data, used / kHuge * kHuge, MADV_HUGEPAGE);
#endif
  return static_cast<uint8_t*>(data);
}

void SystemFree(uint8_t* data, size_t capacity) {
  ::operator delete(data, std::align_val_t(AlignOf(capacity)));
}

struct Pool {
  std::mutex mutex;  // a leaf lock: nothing is called while it is held
  std::array<Buffer*, kClasses> idle{};
  std::atomic<int64_t> bytes_in_use{0};
  std::atomic<int64_t> bytes_idle{0};
  uint64_t generation = ForkGeneration();
  // Under the mutex:
  size_t round = 0;       // trimming round
  bool trimming = false;  // a thread trims periodically, as long as much memory is idle
};

std::atomic<Pool*> g_pool{nullptr};
std::atomic<int64_t> g_idle_limit{kIdleLimit};  // relaxed everywhere: an independent value

Pool& ThePool() {
  // acquire: pairs with the release below. Leaked: buffers may be freed at any time before exit.
  Pool* pool = g_pool.load(std::memory_order_acquire);
  if (pool) return *pool;
  auto* fresh = new Pool;
  if (g_pool.compare_exchange_strong(pool, fresh, std::memory_order_acq_rel)) {
    static std::once_flag once;
    // A fork may have copied the mutex while another thread held it: the child creates a new pool.
    std::call_once(once,
                   [] { OnForkChild([] { g_pool.store(nullptr, std::memory_order_release); }); });
    return *fresh;
  }
  delete fresh;
  return *pool;
}

// Trims until little memory is idle. So memory is returned soon after a run, and the thread ends.
void TrimFromTimeToTime(Pool& pool) {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kTimeIdleNs));
    BufferPool::Trim();
    std::lock_guard lock(pool.mutex);
    if (pool.bytes_idle.load(std::memory_order_relaxed) < kWorthTrimming) {
      pool.trimming = false;
      break;
    }
  }
  TrimFreedMemory();  // smaller buffers belong to malloc, which keeps free memory below used blocks
}

// The caller may be a destructor. If there is no thread, the next freed buffer tries again.
void StartTrimming(Pool& pool) noexcept {
  try {
    ThreadPool::Get().Run(Lane::kNative, "ps-trim", [&pool] { TrimFromTimeToTime(pool); });
  } catch (const std::exception&) {
    std::lock_guard lock(pool.mutex);
    pool.trimming = false;
  }
}

}  // namespace

BufferRef Buffer::Allocate(size_t size) {
  auto* buffer = static_cast<Buffer*>(nullptr);
  if (size < kPooledFrom) {
    // One allocation for the header and the bytes.
    constexpr size_t kHeader = (sizeof(Buffer) + kAlign - 1) / kAlign * kAlign;
    // malloc has a per-thread cache of small blocks, aligned_alloc does not.
    void* raw = std::malloc(kHeader + size + kAlign);
    if (!raw) throw std::bad_alloc();
    uintptr_t memory = (reinterpret_cast<uintptr_t>(raw) + kAlign - 1) / kAlign * kAlign;
    buffer = new (reinterpret_cast<void*>(memory)) Buffer;
    buffer->data_ = reinterpret_cast<uint8_t*>(memory + kHeader);
    buffer->size_ = size;
    buffer->context_ = raw;
    return BufferRef(buffer);
  }
  if (size > kLargest) throw std::bad_alloc();
  Pool& pool = ThePool();
  size_t capacity;
  int bucket = ClassOf(size, &capacity);
  {
    std::lock_guard lock(pool.mutex);
    buffer = pool.idle[bucket];
    if (buffer) pool.idle[bucket] = buffer->next_free_;
  }
  if (buffer) {
    pool.bytes_idle.fetch_sub(static_cast<int64_t>(capacity), std::memory_order_relaxed);
    buffer->refs_.store(1, std::memory_order_relaxed);
  } else {
    auto header =
        std::unique_ptr<Buffer, void (*)(Buffer*)>(new Buffer, [](Buffer* b) { delete b; });
    header->data_ = SystemAllocate(capacity, size);
    buffer = header.release();
    buffer->capacity_ = capacity;
    buffer->generation_ = pool.generation;
  }
  buffer->size_ = size;
  pool.bytes_in_use.fetch_add(static_cast<int64_t>(capacity), std::memory_order_relaxed);
  return BufferRef(buffer);
}

BufferRef Buffer::Borrow(void* data, size_t size, Releaser release, void* context) {
  auto* buffer = new Buffer;
  buffer->data_ = static_cast<uint8_t*>(data);
  buffer->size_ = size;
  buffer->foreign_ = true;
  buffer->release_ = release;
  buffer->context_ = context;
  return BufferRef(buffer);
}

BufferRef Buffer::BorrowConstant(const void* data, size_t size, Releaser release, void* context) {
  BufferRef ref = Borrow(const_cast<void*>(data), size, release, context);
  ref->constant_ = true;
  return ref;
}

BufferRef Buffer::Part(BufferRef whole) {
  BufferRef part = Borrow(whole->data(), whole->size(), [](void*, void*, size_t) {}, nullptr);
  part->foreign_ = whole->foreign();
  part->whole_ = std::exchange(whole.buffer_, nullptr);
  return part;
}

BufferRef Buffer::Constant(BufferRef whole) {
  BufferRef constant = Part(std::move(whole));
  constant->constant_ = true;
  return constant;
}

BufferRef Buffer::Allocate(size_t size, std::vector<BufferRef> owners) {
  BufferRef ref = Allocate(size);
  ref->owners_ = new std::vector<BufferRef>(std::move(owners));
  return ref;
}

void Buffer::Destroy() {
  delete std::exchange(owners_, nullptr);
  BufferRef(std::exchange(whole_, nullptr));
  if (release_) {
    release_(context_, data_, size_);
    delete this;
    return;
  }
  if (capacity_ == 0) {
    void* raw = context_;
    this->~Buffer();
    std::free(raw);
    return;
  }
  Pool& pool = ThePool();
  auto bytes = static_cast<int64_t>(capacity_);
  if (generation_ != pool.generation) return;  // inherited through a fork: leaked intentionally
  pool.bytes_in_use.fetch_sub(bytes, std::memory_order_relaxed);
  if (pool.bytes_idle.load(std::memory_order_relaxed) + bytes >
      g_idle_limit.load(std::memory_order_relaxed)) {
    SystemFree(data_, capacity_);
    delete this;
    return;
  }
  size_t capacity;
  int bucket = ClassOf(capacity_, &capacity);
  int64_t idle = pool.bytes_idle.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  bool start;
  {
    std::lock_guard lock(pool.mutex);
    next_free_ = pool.idle[bucket];
    pool.idle[bucket] = this;
    size_ = pool.round;  // while idle: the round in which it became idle
    start = !pool.trimming && idle >= kWorthTrimming;
    pool.trimming = pool.trimming || start;
  }
  if (start) StartTrimming(pool);
}

BufferPool::Stats BufferPool::stats() {
  Pool& pool = ThePool();
  return {pool.bytes_in_use.load(std::memory_order_relaxed),
          pool.bytes_idle.load(std::memory_order_relaxed)};
}

void BufferPool::LimitIdle(int64_t bytes) {
  int64_t limit = g_idle_limit.load(std::memory_order_relaxed);
  while (bytes < limit &&
         !g_idle_limit.compare_exchange_weak(limit, bytes, std::memory_order_relaxed)) {
  }
}

void BufferPool::Trim() {
  Pool& pool = ThePool();
  Buffer* old = nullptr;
  {
    std::lock_guard lock(pool.mutex);
    const size_t round = pool.round++;
    for (Buffer*& head : pool.idle) {
      Buffer** link = &head;  // the newest are at the front
      while (*link && (*link)->size_ == round) link = &(*link)->next_free_;
      Buffer* cut = std::exchange(*link, nullptr);
      while (cut) {
        Buffer* next = std::exchange(cut->next_free_, old);
        old = std::exchange(cut, next);
      }
    }
  }
  while (old) {
    Buffer* next = old->next_free_;
    pool.bytes_idle.fetch_sub(static_cast<int64_t>(old->capacity_), std::memory_order_relaxed);
    SystemFree(old->data_, old->capacity_);
    delete old;
    old = next;
  }
}

}  // namespace penstock
