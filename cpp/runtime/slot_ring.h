// SlotRing: bounded lock-free ring that many producers fill out of order and one consumer reads.
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

// The work is numbered (seq = start, start + 1, ...), and number seq begins only after
// has_room(seq) was true. Whoever did the work publishes it, once: under its number (publish), or
// under the next number of those that are finished (publish_next). One ring is used in one of the
// two ways. One consumer takes values in order (try_pop) or any finished one, the oldest first
// (try_pop_any).
//
// With publish, work that takes long keeps its slot and all slots after it: no more than `limit`
// may overtake it. With publish_next it holds none: work in hand and values not taken are together
// at most `limit`, and of these, each work in hand delays only itself, however long the others go
// on.
//
// Memory orders. A slot is owned by one side at a time:
//   producer -> consumer: the value is written, then state = kReady (release); the consumer reads
//     state (acquire), so it sees the value.
//   consumer -> producer: the value is destroyed and state = kEmpty, then head_ moves past it
//     (release). The next owner of the slot, number seq, was begun after has_room(seq) read head_
//     (acquire) as > seq - capacity; so the slot is empty for it. If one thread asks has_room and
//     another publishes, the hand-over of the work between them must synchronise (a queue does).
// publish_next: those numbers have the same bounds. Before number t is drawn, t others were, each
// for another item of work, so one of these t + 1 items has a number m >= t. Whoever did that item
// began it after has_room(m) read head_ (acquire) as > m - limit >= t - capacity: slot t is empty.
// Its draw is this one or an earlier one; draws are read-modify-writes (acq_rel) of one variable,
// so that what it saw is before this publish, too. A thread that is stopped between its draw and
// its publish leaves a hole: try_pop_any passes over it, with up to `limit` values. try_pop_any
// sets kTaken; only the consumer reads that (relaxed is enough), and the slot is not reused before
// head_ has moved past it. Invariant: slot[head_] is never kTaken.
template <class T>
class SlotRing final {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>);

 public:
  // As for SpscRing: capacity is rounded up to a power of two; limit 0 means `capacity`.
  explicit SlotRing(size_t capacity, size_t limit = 0, uint64_t start = 0)
      : mask_(std::bit_ceil(std::max<size_t>(capacity, 1)) - 1),
        slots_(new Slot[mask_ + 1]),
        head_(start),
        finished_(start) {
    set_limit(limit != 0 ? limit : std::max<size_t>(capacity, 1));
  }
  ~SlotRing() {
    for (size_t i = 0; i <= mask_; ++i) {
      if (slots_[i].state.load(std::memory_order_acquire) == kReady) slots_[i].value()->~T();
    }
  }
  SlotRing(const SlotRing&) = delete;
  SlotRing& operator=(const SlotRing&) = delete;

  // Any thread. The number of the oldest value not taken yet. acquire: pairs with Advance.
  uint64_t head() const { return head_.load(std::memory_order_acquire); }

  // Any thread: whether work number seq may begin. Once true for seq, it stays safe to publish seq,
  // even when the limit is lowered later.
  bool has_room(uint64_t seq) const {
    // acquire: pairs with release in set_limit, so that a consumer that can see a value of this
    // number also knows that it has to look so far.
    return seq - head() < limit_.load(std::memory_order_acquire);
  }

  // Any thread; once for each seq, after has_room(seq). Notify the consumer after it.
  void publish(uint64_t seq, T&& x) {
    Slot& slot = slots_[seq & mask_];
    new (slot.bytes) T(std::move(x));
    slot.state.store(kReady, std::memory_order_release);  // pairs with acquire in is_ready
  }

  // Any thread; once for each item of work, after has_room of its number. Notify the consumer after
  // it; take with try_pop_any.
  void publish_next(T&& x) {
    // acq_rel: pairs with the other draws, as above.
    publish(finished_.fetch_add(1, std::memory_order_acq_rel), std::move(x));
  }

  // Consumer only: the value at head(), if it is finished. Notify the producers after it.
  bool try_pop(T& out) {
    const uint64_t head = head_.load(std::memory_order_relaxed);  // own index
    Slot& slot = slots_[head & mask_];
    if (!slot.is_ready()) return false;
    Take(slot, out);
    Advance(head);
    return true;
  }

  // Consumer only: the oldest finished value, out of order; its number goes to *seq (may be null).
  // head() moves only when the oldest one is taken. Looks at up to `limit` slots.
  bool try_pop_any(T& out, uint64_t* seq) {
    const uint64_t head = head_.load(std::memory_order_relaxed);  // own index
    // acquire: pairs with release in set_limit
    const uint64_t window = widest_limit_.load(std::memory_order_acquire);
    for (uint64_t i = head; i - head < window; ++i) {
      Slot& slot = slots_[i & mask_];
      if (!slot.is_ready()) continue;
      Take(slot, out);
      if (i == head) Advance(head);
      if (seq != nullptr) *seq = i;
      return true;
    }
    return false;
  }

  // Consumer only: whether try_pop would find something.
  bool ready() const { return slots_[head_.load(std::memory_order_relaxed) & mask_].is_ready(); }

  size_t capacity() const { return mask_ + 1; }
  size_t limit() const { return limit_.load(std::memory_order_relaxed); }

  // One thread at a time. Clamped to 1..capacity. Notify the producers after raising it.
  void set_limit(size_t limit) {
    limit = std::clamp<size_t>(limit, 1, capacity());
    if (limit > widest_limit_.load(std::memory_order_relaxed)) {
      widest_limit_.store(limit, std::memory_order_release);  // pairs with acquire in try_pop_any
    }
    limit_.store(limit, std::memory_order_release);  // pairs with acquire in has_room
  }

 private:
  enum State : uint32_t { kEmpty, kReady, kTaken };

  // 64: neighbours are filled by different threads at the same time.
  struct alignas(64) Slot {
    std::atomic<uint32_t> state{kEmpty};
    alignas(T) unsigned char bytes[sizeof(T)];

    T* value() { return std::launder(reinterpret_cast<T*>(bytes)); }
    bool is_ready() const { return state.load(std::memory_order_acquire) == kReady; }
  };

  void Take(Slot& slot, T& out) {
    T* const x = slot.value();
    out = std::move(*x);
    x->~T();
    slot.state.store(kTaken, std::memory_order_relaxed);  // published by release in Advance
  }

  // slot[head] was taken: gives it and the taken ones that follow it directly back to the
  // producers.
  void Advance(uint64_t head) {
    do {
      slots_[head & mask_].state.store(kEmpty, std::memory_order_relaxed);
      ++head;
    } while (slots_[head & mask_].state.load(std::memory_order_relaxed) == kTaken);
    head_.store(head, std::memory_order_release);  // pairs with acquire in head()
  }

  const size_t mask_;
  const std::unique_ptr<Slot[]> slots_;
  alignas(128) std::atomic<uint64_t> head_;
  alignas(128) std::atomic<uint64_t> finished_;  // numbers that publish_next has drawn
  alignas(128) std::atomic<size_t> limit_{1};
  std::atomic<size_t> widest_limit_{1};  // the highest limit so far: how far finished work may be
};

}  // namespace penstock
