// Memory that one process fills and another one reads: an unnamed file that both map.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/buffer.h"
#include "runtime/idle_cleanup.h"

namespace penstock {

// The location of a buffer in a heap, as sent between processes.
struct Stretch {
  uint64_t offset = 0;  // in bytes
  uint64_t size = 0;
  uint64_t slot = 0;  // in the heap's table
};

// The beginning of the file. A slot is 1 while the other process refers to the stretch with that
// number. Only that process sets it to 0, and only the owner sets it to 1.
struct HeapTable {
  static constexpr uint64_t kSlots = 16384;
  // The row that the owner's call is working on, readable after the owner has died.
  std::atomic<int64_t> row;
  // Nonzero: the other process needs no more of the elements that the owner makes ahead.
  std::atomic<int64_t> stop;
  // Requests with smaller numbers are no longer needed. Only the other process changes it.
  std::atomic<int64_t> wanted;
  std::atomic<uint32_t> held[kSlots];
};
static_assert(std::atomic<int64_t>::is_always_lock_free);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

// Creates a file for a heap; -1 with errno set on failure.
int MakeHeapFile();

// The heap of this process. It is never destroyed, because it contains arrays that users keep.
// Thread-safe.
//
// A stretch is reused when this process has released its buffer and the slot is 0. This is safe:
// the slot becomes 1 only in Lend and LendAt, whose callers keep the buffer alive. So after the
// last reference is gone, the slot can only become 0. Whoever then reads 0 (acquire, which pairs
// with the release of the other process) may write.
class SharedHeap {
 public:
  // Takes ownership of the file. `cleanup`, which may be null, is scheduled when memory becomes
  // free; it calls ReleaseUnused.
  explicit SharedHeap(int file, IdleCleanup* cleanup = nullptr);
  SharedHeap(const SharedHeap&) = delete;
  SharedHeap& operator=(const SharedHeap&) = delete;

  int file() const { return file_; }
  HeapTable& table() { return *table_; }
  // Uninitialised memory. Throws an Error if the system has none.
  BufferRef Allocate(size_t size);
  // Whether `buffer` belongs to this heap.
  bool Owns(const Buffer& buffer) const { return buffer.releaser() == &Release; }
  // From now on, the other process refers to the buffer, until it releases it or Forget is called.
  Stretch Lend(const Buffer& buffer);
  // The same for the duration of a call in which this process keeps a reference to the buffer.
  Stretch Find(const Buffer& buffer) const;
  // As Lend, for memory that the caller keeps alive in another way. Also returns the offset of
  // `data` within the stretch. Nullopt if the memory is not in this heap, or already lent: a
  // stretch can be lent only once at a time.
  std::optional<std::pair<Stretch, uint64_t>> LendAt(const void* data);
  // Call when the other process has ended.
  void Forget(const Stretch& stretch);
  // Returns to the system all memory that has been free since the last call. Returns whether
  // another call may release more.
  bool ReleaseUnused();

 private:
  struct Part {
    SharedHeap* heap;
    uint8_t* data;
    uint64_t offset;
    size_t capacity;
    uint64_t slot;
    bool rested = false;  // free since the last ReleaseUnused
    bool empty = false;   // its memory was returned to the system
  };
  static void Release(void* context, void* data, size_t size);
  void CollectReturned();
  Part* TakeFree(size_t capacity);
  Part* MakePart(size_t capacity);

  const int file_;
  IdleCleanup* const cleanup_;
  const uint64_t generation_;  // a fork child releases nothing: everything belongs to its parent
  HeapTable* table_;
  std::mutex mutex_;  // a leaf lock
  uint64_t end_;      // of the file
  std::vector<std::unique_ptr<Part>> parts_;
  std::map<const uint8_t*, Part*> by_address_;
  std::unordered_map<size_t, std::vector<Part*>> free_;  // by capacity
  std::vector<Part*> lent_;  // released here, but perhaps still referenced by the other process
};

// This process's view of the heap of the other process. Thread-safe.
class PeerHeap {
 public:
  // Takes over the file. Throws an Error if it cannot be mapped.
  explicit PeerHeap(int file);

  // The bytes of a stretch that the other process has lent, released with the last reference.
  BufferRef View(const Stretch& stretch);
  // The same bytes for as long as the other process waits for this one, which may write to them.
  BufferRef Borrow(const Stretch& stretch);
  // Call when the other process has ended: memory without views returns to the system.
  void OwnerEnded();
  HeapTable& table() { return *state_->table; }

 private:
  struct Mapping {
    uint8_t* data;
    size_t size;
    uint64_t slot;
  };
  struct State {
    explicit State(int opened) : file(opened) {}
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    const int file;
    HeapTable* table = nullptr;
    std::atomic<bool> owner_ended{false};
    std::mutex mutex;                                // a leaf lock
    std::unordered_map<uint64_t, Mapping> mappings;  // by offset
  };
  uint8_t* Map(const Stretch& stretch);

  std::shared_ptr<State> state_;  // also held by each view
};

}  // namespace penstock
