// Queues that threads wait at, with one interface: the engine's rings, a lock, and moodycamel's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

#include "runtime/event_count.h"
#include "runtime/slot_ring.h"
#include "runtime/spsc_ring.h"
#include "runtime/wait.h"

#if defined(BENCH_HAS_READERWRITERQUEUE)
#include <readerwriterqueue/readerwritercircularbuffer.h>
#endif
#if defined(BENCH_HAS_CONCURRENTQUEUE)
#include <concurrentqueue/blockingconcurrentqueue.h>
#endif

namespace penstock::bench {

// What most programs would write: a deque under a lock, which two conditions bound.
class LockedQueue {
 public:
  explicit LockedQueue(size_t capacity) : capacity_(capacity) {}
  void Push(int64_t value) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return values_.size() < capacity_; });
    values_.push_back(value);
    lock.unlock();
    ready_.notify_one();
  }
  int64_t Pop() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return !values_.empty(); });
    int64_t value = values_.front();
    values_.pop_front();
    lock.unlock();
    room_.notify_one();
    return value;
  }

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  std::deque<int64_t> values_;
};

// As prefetch uses it: the ring, and an event count for each side.
class EngineQueue {
 public:
  explicit EngineQueue(size_t capacity) : ring_(capacity) {}
  void Push(int64_t value) {
    WaitUntil(room_, cancel_, [&] { return ring_.try_push(std::move(value)); });
    ready_.NotifyOne();
  }
  int64_t Pop() {
    int64_t value = 0;
    WaitUntil(ready_, cancel_, [&] { return ring_.try_pop(value); });
    room_.NotifyOne();
    return value;
  }

 private:
  SpscRing<int64_t> ring_;
  EventCount room_, ready_;
  CancelToken cancel_;
};

// As parallel map uses it: numbers are given out in order, and come back in that order.
class EngineSlots {
 public:
  explicit EngineSlots(size_t capacity) : ring_(capacity) {}
  void Push(int64_t value) {
    uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);  // a ticket, nothing else
    WaitUntil(room_, cancel_, [&] { return ring_.has_room(number); });
    ring_.publish(number, std::move(value));
    ready_.NotifyOne();
  }
  int64_t Pop() {
    int64_t value = 0;
    WaitUntil(ready_, cancel_, [&] { return ring_.try_pop(value); });
    room_.NotifyAll();
    return value;
  }

 private:
  SlotRing<int64_t> ring_;
  std::atomic<uint64_t> next_{0};
  EventCount room_, ready_;
  CancelToken cancel_;
};

#if defined(BENCH_HAS_READERWRITERQUEUE)
class CircularBuffer {  // bounded, as the others
 public:
  explicit CircularBuffer(size_t capacity) : queue_(capacity) {}
  void Push(int64_t value) { queue_.wait_enqueue(value); }
  int64_t Pop() {
    int64_t value = 0;
    queue_.wait_dequeue(value);
    return value;
  }

 private:
  moodycamel::BlockingReaderWriterCircularBuffer<int64_t> queue_;
};
#endif

#if defined(BENCH_HAS_CONCURRENTQUEUE)
class ConcurrentQueue {  // unbounded, and without an order between its producers
 public:
  explicit ConcurrentQueue(size_t capacity) : queue_(capacity) {}
  void Push(int64_t value) { queue_.enqueue(value); }
  int64_t Pop() {
    int64_t value = 0;
    queue_.wait_dequeue(value);
    return value;
  }

 private:
  moodycamel::BlockingConcurrentQueue<int64_t> queue_;
};
#endif

}  // namespace penstock::bench
