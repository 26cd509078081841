// SpscRing: bounded lock-free queue for one producer and one consumer (prefetch).
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace penstock {

// Producer and consumer are roles: they may move between threads if the hand-over synchronises. The
// ring never sleeps: a stage wraps it in WaitUntil, and notifies after push, pop and set_limit.
//
// Memory orders: tail_ (written by the producer) publishes values, head_ (written by the consumer)
// publishes free slots; each is stored with release and read by the other side with acquire. Each
// side keeps a copy of the other's index and reads the shared one only if the copy indicates full
// or empty. A stale copy errs only in that direction, because both indices only grow. They wrap at
// 2^64, and only their differences are used.
template <class T>
class SpscRing final {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>);

 public:
  // Room for `capacity` values, rounded up to a power of two; initially `limit` of them may be used
  // (0: all of `capacity`). `start` is the initial value of both indices, for tests.
  explicit SpscRing(size_t capacity, size_t limit = 0, uint64_t start = 0)
      : mask_(std::bit_ceil(std::max<size_t>(capacity, 1)) - 1), slots_(new Slot[mask_ + 1]) {
    producer_.tail.store(start, std::memory_order_relaxed);  // relaxed: not shared yet
    producer_.head_copy = start;
    consumer_.head.store(start, std::memory_order_relaxed);
    consumer_.tail_copy = start;
    set_limit(limit != 0 ? limit : std::max<size_t>(capacity, 1));
  }
  ~SpscRing() {
    uint64_t head = consumer_.head.load(std::memory_order_acquire);
    const uint64_t tail = producer_.tail.load(std::memory_order_acquire);
    for (; head != tail; ++head) value(head)->~T();
  }
  SpscRing(const SpscRing&) = delete;
  SpscRing& operator=(const SpscRing&) = delete;

  // Producer only. Returns false if full; `x` is moved from only on success.
  bool try_push(T&& x) {
    const uint64_t tail = producer_.tail.load(std::memory_order_relaxed);  // own index
    if (!has_room_at(tail)) return false;
    new (slots_[tail & mask_].bytes) T(std::move(x));
    producer_.tail.store(tail + 1, std::memory_order_release);  // pairs with acquire in try_pop
    return true;
  }
  // Producer only: whether try_push would succeed.
  bool has_room() { return has_room_at(producer_.tail.load(std::memory_order_relaxed)); }

  // Consumer only. Returns false if empty. The value in the slot is destroyed immediately, not when
  // it is overwritten.
  bool try_pop(T& out) {
    const uint64_t head = consumer_.head.load(std::memory_order_relaxed);  // own index
    if (head == consumer_.tail_copy) {
      consumer_.tail_copy = producer_.tail.load(std::memory_order_acquire);  // pairs with try_push
      if (head == consumer_.tail_copy) return false;
    }
    T* const x = value(head);
    out = std::move(*x);
    x->~T();
    consumer_.head.store(head + 1, std::memory_order_release);  // pairs with acquire in has_room_at
    return true;
  }

  // Any thread; a snapshot. Reads head first, so that tail is not older and the difference is >= 0.
  size_t size() const {
    const uint64_t head = consumer_.head.load(std::memory_order_acquire);
    const uint64_t tail = producer_.tail.load(std::memory_order_acquire);
    return static_cast<size_t>(std::min<uint64_t>(tail - head, capacity()));
  }
  bool empty() const { return size() == 0; }
  size_t capacity() const { return mask_ + 1; }

  // Any thread. Clamped to 1..capacity; values beyond a lowered limit stay until popped. Notify the
  // producer after raising it. relaxed: the limit orders nothing, and the notifier's fence makes it
  // visible to a waiter.
  void set_limit(size_t limit) {
    limit_.store(std::clamp<size_t>(limit, 1, capacity()), std::memory_order_relaxed);
  }
  size_t limit() const { return limit_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    alignas(T) unsigned char bytes[sizeof(T)];
  };

  bool has_room_at(uint64_t tail) {
    const size_t limit = limit_.load(std::memory_order_relaxed);
    if (tail - producer_.head_copy < limit) return true;
    producer_.head_copy = consumer_.head.load(std::memory_order_acquire);  // pairs with try_pop
    return tail - producer_.head_copy < limit;
  }
  T* value(uint64_t i) { return std::launder(reinterpret_cast<T*>(slots_[i & mask_].bytes)); }

  // 128 bytes apart: two cache lines, because the adjacent-line prefetcher couples pairs.
  struct alignas(128) {
    std::atomic<uint64_t> tail;
    uint64_t head_copy;
  } producer_;
  struct alignas(128) {
    std::atomic<uint64_t> head;
    uint64_t tail_copy;
  } consumer_;
  alignas(128) std::atomic<size_t> limit_;
  const size_t mask_;
  const std::unique_ptr<Slot[]> slots_;
};

}  // namespace penstock
