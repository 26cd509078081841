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

// Work items are numbered (seq = start, start + 1, ...), and item seq starts only after
// has_room(seq) was true. Its producer publishes it once: under its number (publish), or under the
// next number in order of completion (publish_next). A ring is used in only one of the two ways.
// One consumer takes values in order (try_pop), or any finished one, the oldest first
// (try_pop_any).
//
// With publish, a slow item blocks its slot and all slots after it: at most `limit` items can
// overtake it. With publish_next it blocks none: items in progress and values not taken are
// together at most `limit`, and each item in progress delays only itself, however long the others
// take.
//
// Memory orders. A slot has one owner at any time:
//   producer -> consumer: the value is written, then state = kReady (release); the consumer reads
//     state (acquire), so it sees the value.
//   consumer -> producer: the value is destroyed and state = kEmpty, then head_ moves past it
//     (release). The next owner of the slot, item seq, was started after has_room(seq) read head_
//     (acquire) as > seq - capacity; so the slot is empty for it. If one thread calls has_room and
//     another publishes, passing the item between them must synchronise (a queue does).
// publish_next: its numbers have the same bounds. Before number t is drawn, t others were, each for
// a different item, so one of these t + 1 items has an item number m >= t. That item was started
// after has_room(m) read head_ (acquire) as > m - limit >= t - capacity: slot t is empty. Its draw
// is this one or an earlier one; draws are read-modify-writes (acq_rel) of one variable, so what
// its producer saw also happens before this publish. A thread suspended between its draw and its
// publish leaves a hole: try_pop_any skips it, for up to `limit` values. try_pop_any sets kTaken,
// which only the consumer reads (relaxed suffices), and the slot is not reused before head_ has
// moved past it. Invariant: slot[head_] is never kTaken.
template <class T>
class SlotRing final {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>);

 public:
  // Like SpscRing: capacity is rounded up to a power of two; limit 0 means `capacity`.
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

  // Any thread: whether item seq may start. Once true for seq, it stays safe to publish seq, even
  // if the limit is lowered later.
  bool has_room(uint64_t seq) const {
    // acquire: pairs with release in set_limit, so that a consumer that can see a value with this
    // number also knows that it must look that far.
    return seq - head() < limit_.load(std::memory_order_acquire);
  }

  // Any thread; once per seq, after has_room(seq). Then notify the consumer.
  void publish(uint64_t seq, T&& x) {
    Slot& slot = slots_[seq & mask_];
    new (slot.bytes) T(std::move(x));
    slot.state.store(kReady, std::memory_order_release);  // pairs with acquire in is_ready
  }

  // Any thread; once per item, after has_room of its number. Then notify the consumer, which must
  // use try_pop_any.
  void publish_next(T&& x) {
    // acq_rel: pairs with the other draws, as above.
    publish(finished_.fetch_add(1, std::memory_order_acq_rel), std::move(x));
  }

  // Consumer only: takes the value at head(), if it is finished. Then notify the producers.
  bool try_pop(T& out) {
    const uint64_t head = head_.load(std::memory_order_relaxed);  // own index
    Slot& slot = slots_[head & mask_];
    if (!slot.is_ready()) return false;
    Take(slot, out);
    Advance(head);
    return true;
  }

  // Consumer only: takes the oldest finished value, even out of order; stores its number in *seq
  // (may be null). head() moves only if that value is at head(). Checks up to `limit` slots.
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

  // Consumer only: whether try_pop would succeed.
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

  // 64: adjacent slots are filled by different threads concurrently.
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

  // slot[head] was taken: returns it and the taken slots that directly follow it to the producers.
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
  std::atomic<size_t> widest_limit_{1};  // the highest limit so far: bounds try_pop_any's search
};

}  // namespace penstock
