// Memory that runs out at a chosen allocation of the engine: loaded before everything else, it
// stands in for malloc and operator new. Only what _core asks for, itself or through the C++
// library, is counted and can fail; Python, NumPy and the codecs get all they want.
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>

// What malloc is in glibc, whoever stands in for it.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace {

struct Range {
  uintptr_t begin = 0, end = 0;
  bool has(const void* at) const {
    auto place = reinterpret_cast<uintptr_t>(at);
    return place >= begin && place < end;
  }
};

Range watched[2];  // written before anything is counted
int ranges = 0;
// relaxed everywhere: numbers that publish nothing; they are set while no thread of the engine
// runs.
std::atomic<int64_t> count{0};
std::atomic<int64_t> first{INT64_MAX};  // the first to fail
std::atomic<int64_t> last{INT64_MAX};   // and the last one
std::atomic<int64_t> failed{0};
std::atomic<bool> counting{false};
std::atomic<bool> tells{false};  // writes where it failed to stderr
thread_local bool spared = false;  // this thread gets all it wants

bool Fails(const void* caller) {
  if (!counting.load(std::memory_order_relaxed) || spared) return false;
  bool ours = false;
  for (int i = 0; i < ranges; ++i) ours = ours || watched[i].has(caller);
  if (!ours) return false;
  int64_t number = count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number < first.load(std::memory_order_relaxed) ||
      number > last.load(std::memory_order_relaxed)) {
    return false;
  }
  failed.fetch_add(1, std::memory_order_relaxed);
  if (tells.load(std::memory_order_relaxed)) {
    counting.store(false, std::memory_order_relaxed);
    void* frames[40];
    backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
    (void)!write(STDERR_FILENO, "\n", 1);
    counting.store(true, std::memory_order_relaxed);
  }
  return true;
}

int Find(dl_phdr_info* info, size_t, void*) {
  if (!std::strstr(info->dlpi_name, "/_core.") && !std::strstr(info->dlpi_name, "libstdc++"))
    return 0;
  for (int i = 0; i < info->dlpi_phnum && ranges < 2; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
    uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    watched[ranges++] = {begin, begin + part.p_memsz};
  }
  return 0;
}

void* Aligned(size_t size, std::align_val_t align) {
  return __libc_memalign(static_cast<size_t>(align), size);
}

}  // namespace

#define CALLER __builtin_return_address(0)

extern "C" {

// Finds the engine, once it is loaded; how many libraries are watched.
int memory_watch() {
  ranges = 0;
  dl_iterate_phdr(Find, nullptr);
  return ranges;
}
// Counts from 1 on; those from `from` to `to` fail.
void memory_fail(int64_t from, int64_t to, bool tell) {
  count.store(0, std::memory_order_relaxed);
  failed.store(0, std::memory_order_relaxed);
  first.store(from, std::memory_order_relaxed);
  last.store(to, std::memory_order_relaxed);
  tells.store(tell, std::memory_order_relaxed);
  counting.store(true, std::memory_order_relaxed);
}
// The calling thread gets all it wants from now on, or no longer.
void memory_spare(bool spare) { spared = spare; }
void memory_enough() { counting.store(false, std::memory_order_relaxed); }
int64_t memory_count() { return count.load(std::memory_order_relaxed); }
int64_t memory_failed() { return failed.load(std::memory_order_relaxed); }

void* malloc(size_t size) {
  if (!Fails(CALLER)) return __libc_malloc(size);
  errno = ENOMEM;
  return nullptr;
}
void* calloc(size_t items, size_t size) {
  if (!Fails(CALLER)) return __libc_calloc(items, size);
  errno = ENOMEM;
  return nullptr;
}
void* realloc(void* memory, size_t size) {
  if (!Fails(CALLER)) return __libc_realloc(memory, size);
  errno = ENOMEM;
  return nullptr;
}

}  // extern "C"

void* operator new(size_t size) {
  if (Fails(CALLER)) throw std::bad_alloc();
  return __libc_malloc(size);
}
void* operator new[](size_t size) {
  if (Fails(CALLER)) throw std::bad_alloc();
  return __libc_malloc(size);
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return Fails(CALLER) ? nullptr : __libc_malloc(size);
}
void* operator new(size_t size, std::align_val_t align) {
  if (Fails(CALLER)) throw std::bad_alloc();
  return Aligned(size, align);
}
void* operator new[](size_t size, std::align_val_t align) {
  if (Fails(CALLER)) throw std::bad_alloc();
  return Aligned(size, align);
}
void operator delete(void* memory) noexcept { __libc_free(memory); }
void operator delete[](void* memory) noexcept { __libc_free(memory); }
void operator delete(void* memory, size_t) noexcept { __libc_free(memory); }
void operator delete[](void* memory, size_t) noexcept { __libc_free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { __libc_free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { __libc_free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { __libc_free(memory); }
