// Stretches of a memfd: allocated, lent, mapped and reused.
#include "workers/shared_heap.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "data/error.h"
#include "runtime/fork.h"
#if defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace penstock {

#if defined(__linux__)
namespace {

constexpr size_t kPage = 4096;

constexpr size_t ToPages(size_t size) { return (size + kPage - 1) / kPage * kPage; }

// Four sizes per power of two, so that stretches are reused for similar sizes.
size_t CapacityFor(size_t size) {
  size = std::max(size, kPage);
  const size_t step = std::max(std::bit_floor(size) / 4, kPage);
  return (size + step - 1) / step * step;
}

[[noreturn]] void ThrowShort(const char* what, size_t size) {
  const int code = errno;
  throw Error(ErrorKind::kMemory,
              "worker processes: {} bytes of shared memory were expected, {} failed: {}; use fewer "
              "workers or smaller elements",
              size, std::string_view(what), std::string_view(std::strerror(code)));
}

uint8_t* MapRange(int file, uint64_t offset, size_t size) {
  void* data =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  if (data == MAP_FAILED) ThrowShort("mmap", size);
  return static_cast<uint8_t*>(data);
}

constexpr size_t kTableBytes = ToPages(sizeof(HeapTable));

// Returns the pages of a range to the system. Mappings of the range stay valid and read zeros.
bool PunchHole(int file, uint64_t offset, uint64_t size) {
  return fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                   static_cast<off_t>(size)) == 0;
}

// Allocates the pages now. Otherwise a full system would kill the process at the first access.
void ReserveRange(int file, uint64_t offset, size_t size) {
  if (const int failed =
          posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(size))) {
    errno = failed;
    ThrowShort("posix_fallocate", size);
  }
}

}  // namespace

int MakeHeapFile() {
  const int file = memfd_create("penstock", MFD_CLOEXEC);
  if (file < 0) return -1;
  if (const int failed = posix_fallocate(file, 0, kTableBytes)) {
    close(file);
    errno = failed;
    return -1;
  }
  return file;
}

SharedHeap::SharedHeap(int file, IdleCleanup* cleanup)
    : file_(file),
      cleanup_(cleanup),
      generation_(ForkGeneration()),
      table_(reinterpret_cast<HeapTable*>(MapRange(file, 0, kTableBytes))),
      end_(kTableBytes) {}

BufferRef SharedHeap::Allocate(size_t size) {
  const size_t capacity = CapacityFor(size);
  std::lock_guard lock(mutex_);
  Part* part = TakeFree(capacity);
  if (!part) part = MakePart(capacity);
  return Buffer::Borrow(part->data, size, &Release, part);
}

void SharedHeap::CollectReturned() {
  std::erase_if(lent_, [this](Part* part) {
    // acquire: pairs with the release of the other process, which has finished reading or writing
    if (table_->held[part->slot].load(std::memory_order_acquire)) return false;
    part->rested = false;
    free_[part->capacity].push_back(part);
    return true;
  });
}

SharedHeap::Part* SharedHeap::TakeFree(size_t capacity) {
  std::vector<Part*>& free = free_[capacity];
  if (free.empty()) CollectReturned();
  if (free.empty()) return nullptr;
  Part* part = free.back();
  if (part->empty) {
    ReserveRange(file_, part->offset, part->capacity);
    part->empty = false;
  }
  free.pop_back();
  return part;
}

bool SharedHeap::ReleaseUnused() {
  std::lock_guard lock(mutex_);
  CollectReturned();
  bool more = !lent_.empty();
  for (auto& [capacity, free] : free_) {
    for (Part* part : free) {
      if (part->empty) continue;
      if (!part->rested) {
        part->rested = true;
        more = true;
      } else {
        part->empty = PunchHole(file_, part->offset, part->capacity);
      }
    }
  }
  return more;
}

SharedHeap::Part* SharedHeap::MakePart(size_t capacity) {
  if (parts_.size() == HeapTable::kSlots) {
    throw Error(ErrorKind::kMemory,
                "worker processes: more than {} results are held at a time; copy what you keep "
                "(np.array), or batch before it",
                HeapTable::kSlots);
  }
  ReserveRange(file_, end_, capacity);
  uint8_t* data = MapRange(file_, end_, capacity);
  auto part = std::make_unique<Part>(Part{this, data, end_, capacity, parts_.size()});
  lent_.reserve(parts_.size() + 1);  // Release must not throw
  free_[capacity].reserve(parts_.size() + 1);
  by_address_.emplace(data, part.get());
  parts_.push_back(std::move(part));
  end_ += capacity;
  return parts_.back().get();
}

void SharedHeap::Release(void* context, void*, size_t) {
  auto* part = static_cast<Part*>(context);
  SharedHeap& heap = *part->heap;
  if (heap.generation_ != ForkGeneration()) return;
  {
    std::lock_guard lock(heap.mutex_);
    const bool held = heap.table_->held[part->slot].load(std::memory_order_acquire);
    part->rested = false;
    (held ? heap.lent_ : heap.free_[part->capacity]).push_back(part);
  }
  if (heap.cleanup_) heap.cleanup_->Schedule();
}

Stretch SharedHeap::Lend(const Buffer& buffer) {
  auto* part = static_cast<Part*>(buffer.context());
  // The message that informs the other process is sent after this.
  table_->held[part->slot].store(1, std::memory_order_relaxed);
  return {part->offset, part->capacity, part->slot};
}

std::optional<std::pair<Stretch, uint64_t>> SharedHeap::LendAt(const void* data) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  std::lock_guard lock(mutex_);
  auto after = by_address_.upper_bound(bytes);
  if (after == by_address_.begin()) return std::nullopt;
  const Part& part = *std::prev(after)->second;
  const auto offset = static_cast<uint64_t>(bytes - part.data);
  if (offset >= part.capacity) return std::nullopt;
  uint32_t free = 0;
  // acquire: pairs with the release of the other process, for its writes during an earlier loan
  if (!table_->held[part.slot].compare_exchange_strong(free, 1, std::memory_order_acquire)) {
    return std::nullopt;
  }
  return std::pair(Stretch{part.offset, part.capacity, part.slot}, offset);
}

Stretch SharedHeap::Find(const Buffer& buffer) const {
  const auto* part = static_cast<const Part*>(buffer.context());
  return {part->offset, part->capacity, part->slot};
}

void SharedHeap::Forget(const Stretch& stretch) {
  table_->held[stretch.slot].store(0, std::memory_order_release);
}

PeerHeap::PeerHeap(int file) : state_(std::make_shared<State>(file)) {
  state_->table = reinterpret_cast<HeapTable*>(MapRange(file, 0, kTableBytes));
}

PeerHeap::State::~State() {
  for (auto& [offset, mapping] : mappings) munmap(mapping.data, mapping.size);
  if (table) munmap(table, kTableBytes);
  close(file);
}

uint8_t* PeerHeap::Map(const Stretch& stretch) {
  std::lock_guard lock(state_->mutex);
  auto [found, missing] = state_->mappings.try_emplace(stretch.offset);
  if (missing) {
    try {
      uint8_t* const data = MapRange(state_->file, stretch.offset, stretch.size);
      found->second = {data, stretch.size, stretch.slot};
    } catch (...) {
      state_->mappings.erase(found);
      throw;
    }
  }
  return found->second.data;
}

BufferRef PeerHeap::View(const Stretch& stretch) {
  struct Held {
    std::shared_ptr<State> state;
    Stretch stretch;
    uint64_t generation;
  };
  uint8_t* data = Map(stretch);
  auto release = [](void* context, void*, size_t) {
    std::unique_ptr<Held> held(static_cast<Held*>(context));
    if (held->generation != ForkGeneration()) return;  // the parent still has it
    // release: this process's reads and writes happen before the owner's next use
    State& state = *held->state;
    state.table->held[held->stretch.slot].store(0, std::memory_order_release);
    // relaxed: memory released while the owner ends may stay until the last view is dropped.
    if (state.owner_ended.load(std::memory_order_relaxed)) {
      PunchHole(state.file, held->stretch.offset, held->stretch.size);
    }
  };
  auto held = std::make_unique<Held>(Held{state_, stretch, ForkGeneration()});
  BufferRef view = Buffer::Borrow(data, stretch.size, release, held.get());
  held.release();
  return view;
}

BufferRef PeerHeap::Borrow(const Stretch& stretch) {
  return Buffer::Borrow(Map(stretch), stretch.size, [](void*, void*, size_t) {}, nullptr);
}

void PeerHeap::OwnerEnded() {
  std::lock_guard lock(state_->mutex);
  state_->owner_ended.store(true, std::memory_order_relaxed);
  std::map<uint64_t, uint64_t> held;  // ends, by beginnings
  for (const auto& [offset, mapping] : state_->mappings) {
    if (state_->table->held[mapping.slot].load(std::memory_order_relaxed)) {
      held.emplace(offset, offset + mapping.size);
    }
  }
  struct stat status;
  if (held.empty() || fstat(state_->file, &status) != 0) return;  // freed with this heap
  uint64_t begin = kTableBytes;
  held.emplace(static_cast<uint64_t>(status.st_size), 0);
  for (const auto& [offset, end] : held) {
    if (offset > begin) PunchHole(state_->file, begin, offset - begin);
    begin = end;
  }
}

#else

int MakeHeapFile() {
  errno = ENOSYS;
  return -1;
}
SharedHeap::SharedHeap(int file, IdleCleanup* cleanup)
    : file_(file), cleanup_(cleanup), generation_(0), table_(nullptr), end_(0) {}
BufferRef SharedHeap::Allocate(size_t) { return {}; }
Stretch SharedHeap::Lend(const Buffer&) { return {}; }
std::optional<std::pair<Stretch, uint64_t>> SharedHeap::LendAt(const void*) { return {}; }
Stretch SharedHeap::Find(const Buffer&) const { return {}; }
void SharedHeap::Forget(const Stretch&) {}
PeerHeap::PeerHeap(int file) : state_(std::make_shared<State>(file)) {}
PeerHeap::State::~State() = default;
BufferRef PeerHeap::View(const Stretch&) { return {}; }
BufferRef PeerHeap::Borrow(const Stretch&) { return {}; }
void PeerHeap::OwnerEnded() {}
bool SharedHeap::ReleaseUnused() { return false; }

#endif

}  // namespace penstock
