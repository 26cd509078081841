// Memory that one process fills and another one reads: a file without a name, which both map.
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

// Where a buffer of a heap lies, as the processes tell each other.
struct Stretch {
  uint64_t offset = 0;  // bytes
  uint64_t size = 0;
  uint64_t slot = 0;  // of the heap's table
};

// The beginning of the file. A slot is 1 while the other process refers to the stretch of that
// number; that process alone changes it to 0, and the owner alone to 1.
struct HeapTable {
  static constexpr uint64_t kSlots = 16384;
  // The row that the owner's call works on, for whoever finds the owner dead.
  std::atomic<int64_t> row;
  // Not 0: the other process wants nothing more of what the owner makes ahead.
  std::atomic<int64_t> stop;
  // Requests with smaller numbers are no longer wanted. The other process alone changes it.
  std::atomic<int64_t> wanted;
  std::atomic<uint32_t> held[kSlots];
};
static_assert(std::atomic<int64_t>::is_always_lock_free);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

// A new file for a heap; -1 with errno set where there is none to be had.
int MakeHeapFile();

// The heap of this process. It lives as long as the process does, because arrays that a user keeps
// lie in it. Thread-safe.
//
// A stretch is used again when this process has let go of its buffer and the slot is 0. Argument:
// the slot becomes 1 only in Lend, whose caller has a reference to the buffer; so once the last
// reference is gone, the slot can only become 0, and whoever then reads 0 (acquire, which pairs
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
  // Uninitialised memory. Throws an Error where the system has none.
  BufferRef Allocate(size_t size);
  // Whether `buffer` is this heap's.
  bool Owns(const Buffer& buffer) const { return buffer.releaser() == &Release; }
  // The other process refers to the buffer from now on, until it lets go or `Forget` is called.
  Stretch Lend(const Buffer& buffer);
  // The same for the time of a call, in which this process refers to the buffer.
  Stretch Find(const Buffer& buffer) const;
  // The same for memory that the caller refers to in another way, and how far from the beginning of
  // the stretch it lies. None where it is not this heap's, or is lent already: a stretch goes out
  // once at a time.
  std::optional<std::pair<Stretch, uint64_t>> LendAt(const void* data);
  // The other process has ended.
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
  const uint64_t generation_;  // a fork child gives nothing back: it all is its parent's
  HeapTable* table_;
  std::mutex mutex_;  // a leaf lock
  uint64_t end_;      // of the file
  std::vector<std::unique_ptr<Part>> parts_;
  std::map<const uint8_t*, Part*> by_address_;
  std::unordered_map<size_t, std::vector<Part*>> free_;  // by capacity
  std::vector<Part*> lent_;  // no longer referred to here, but perhaps still in the other process
};

// The heap of the other process, as this one sees it. Thread-safe.
class PeerHeap {
 public:
  // Takes over the file. Throws an Error when it cannot be mapped.
  explicit PeerHeap(int file);

  // The bytes of a stretch, which the other process has lent: let go of with the last reference.
  BufferRef View(const Stretch& stretch);
  // The same bytes for as long as the other process waits for this one, which may write.
  BufferRef Borrow(const Stretch& stretch);
  // The other process has ended: memory returns to the system when no view refers to it.
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

  std::shared_ptr<State> state_;  // also of each view
};

}  // namespace penstock
