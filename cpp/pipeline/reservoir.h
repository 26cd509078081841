// The choices of a shuffle, as a pure function of a key.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "pipeline/random.h"
#include "runtime/platform.h"

namespace penstock {

// Slots that are filled up before each draw, the chosen slot is closed by the last one. A pure
// function of key, size and number of items, so that a state needs only counters.
template <typename Item>
class Reservoir {
 public:
  Reservoir(RandomKey key, int64_t size) : key_(key), size_(size) {}
  bool full() const { return room() == 0; }
  bool empty() const { return slots_.empty(); }
  int64_t room() const { return size_ - static_cast<int64_t>(slots_.size()); }
  void Add(Item item) { slots_.push_back(std::move(item)); }
  // The slot that Draw takes.
  uint64_t Choice() const { return key_.DrawBelow(static_cast<uint64_t>(drawn_), slots_.size()); }
  // The slot that will be drawn so many draws from now if the slots are full until then.
  const Item& Ahead(int64_t draws) const {
    return slots_[key_.DrawBelow(static_cast<uint64_t>(drawn_ + draws), slots_.size())];
  }
  Item Draw() { return Draw(Choice()); }
  Item Draw(uint64_t at) {
    ++drawn_;
    Item item = std::move(slots_[at]);
    if (at + 1 != slots_.size()) slots_[at] = std::move(slots_.back());
    slots_.pop_back();
    return item;
  }
  int64_t drawn() const { return drawn_; }
  const std::vector<Item>& slots() const { return slots_; }
  std::vector<Item>& slots() { return slots_; }

 private:
  RandomKey key_;
  int64_t size_;
  int64_t drawn_ = 0;
  std::vector<Item> slots_;
};

// Which of so many rows comes next: the reservoir over their numbers.
class ShuffledRows {
 public:
  ShuffledRows(RandomKey key, int64_t size, int64_t rows)
      : key_(key), size_(size), rows_(rows), slots_(key, size) {
    slots_.slots().reserve(static_cast<size_t>(std::min(size, rows)));
  }
  // Draws up to so many rows, behind those in `drawn`.
  void Draw(int64_t count, std::vector<int64_t>& drawn) {
    // In a buffer larger than the CPU's caches each draw would wait for memory. How many slots
    // there will be is known, so the choices are made some draws ahead and their slots fetched
    // together.
    std::array<uint64_t, 32> choices;
    for (count = std::min(count, rows_ - slots_.drawn()); count > 0;) {
      const auto some = static_cast<size_t>(std::min<int64_t>(count, choices.size()));
      for (size_t i = 0; i < some; ++i) {
        int64_t at = slots_.drawn() + static_cast<int64_t>(i);
        choices[i] = key_.DrawBelow(static_cast<uint64_t>(at),
                                    static_cast<uint64_t>(std::min(size_, rows_ - at)));
        Prefetch(slots_.slots().data() + choices[i]);
      }
      for (size_t i = 0; i < some; ++i) {
        Fill();
        drawn.push_back(slots_.Draw(choices[i]));
      }
      count -= static_cast<int64_t>(some);
    }
  }
  int64_t drawn() const { return slots_.drawn(); }
  int64_t pulled() const { return next_; }

 private:
  void Fill() {
    while (!slots_.full() && next_ < rows_) slots_.Add(next_++);
  }

  RandomKey key_;
  int64_t size_;
  int64_t rows_;
  int64_t next_ = 0;
  Reservoir<int64_t> slots_;
};

}  // namespace penstock
