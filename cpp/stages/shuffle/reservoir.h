// The choices of a shuffle, as a pure function of a key.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "data/random.h"
#include "runtime/platform.h"

namespace penstock {

// Slots that are filled before each draw; a draw moves the last slot into the chosen one. The draws
// are a pure function of key, size and number of items, so a state needs only counters.
template <typename Item>
class Reservoir {
 public:
  explicit Reservoir(RandomKey key, int64_t size, int64_t drawn = 0)
      : key_(key), size_(size), drawn_(drawn) {}
  bool full() const { return room() == 0; }
  bool empty() const { return slots_.empty(); }
  int64_t room() const { return size_ - static_cast<int64_t>(slots_.size()); }
  // Reserves memory for one more item: the next Add cannot fail.
  void MakeRoom() {
    if (slots_.size() == slots_.capacity()) slots_.reserve(std::max<size_t>(2 * slots_.size(), 16));
  }
  void Add(Item item) { slots_.push_back(std::move(item)); }
  // The slot that the next Draw takes.
  uint64_t Choice() const { return key_.DrawBelow(static_cast<uint64_t>(drawn_), slots_.size()); }
  // The slot that will be drawn in `draws` draws, if the slots stay full until then.
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
  int64_t drawn_;
  std::vector<Item> slots_;
};

// Returns the slots after `drawn` draws, for items numbered in order of arrival, up to `items`,
// with slots filled before each draw and after the last one. The cost is proportional to the number
// of slots, not of draws. While the slots are full, a draw moves the newest item into the chosen
// slot, so the last draw of each slot determines its content. `look` is called now and then and may
// throw to stop.
template <typename Look>
std::vector<int64_t> SlotsAfter(RandomKey key, int64_t size, int64_t items, int64_t drawn,
                                Look look) {
  constexpr int64_t kNothing = -1;
  const int64_t count = std::min(size, items);
  const int64_t last = size - 1;
  // Draws from full slots; later draws have fewer slots.
  const int64_t full = items < size ? 0 : std::min(drawn, items - size + 1);
  std::vector<int64_t> slots(static_cast<size_t>(count), kNothing);
  int64_t unknown = full > 0 ? last : 0;
  for (int64_t draw = full - 1; draw >= 0 && unknown > 0; --draw) {
    if (draw % 4096 == 0) look();
    auto at = key.DrawBelow(static_cast<uint64_t>(draw), static_cast<uint64_t>(size));
    if (static_cast<int64_t>(at) == last || slots[at] != kNothing) continue;
    slots[at] = last + draw;
    --unknown;
  }
  for (int64_t i = 0; i < count; ++i) {
    if (slots[static_cast<size_t>(i)] == kNothing) slots[static_cast<size_t>(i)] = i;
  }
  if (full > 0) {
    slots.pop_back();
    if (last + full < items) slots.push_back(last + full);
  }
  for (int64_t draw = full; draw < drawn && !slots.empty(); ++draw) {
    if (draw % 4096 == 0) look();
    uint64_t at = key.DrawBelow(static_cast<uint64_t>(draw), slots.size());
    slots[at] = slots.back();
    slots.pop_back();
  }
  return slots;
}

// The order of rows: a reservoir of row numbers.
class ShuffledRows {
 public:
  ShuffledRows(RandomKey key, int64_t size, int64_t rows)
      : key_(key), size_(size), rows_(rows), slots_(key, size) {
    slots_.slots().reserve(static_cast<size_t>(std::min(size, rows)));
  }
  // Draws up to `count` rows and appends them to `drawn`.
  void Draw(int64_t count, std::vector<int64_t>& drawn) {
    // In a buffer larger than the CPU's caches, each draw would wait for memory. The number of
    // slots at each draw is known, so several choices are made ahead and their slots are prefetched
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
  // Skips `count` draws; `look` as above.
  template <typename Look>
  void Pass(int64_t count, Look look) {
    constexpr int64_t kSome = 4096;
    const int64_t drawn = slots_.drawn() + std::min(count, rows_ - slots_.drawn());
    if (count / 16 > size_) {
      const bool all = size_ > rows_ - drawn;
      next_ = all ? rows_ : drawn + size_ - 1;
      std::vector<int64_t> slots = SlotsAfter(key_, size_, next_, drawn, look);
      slots_ = Reservoir<int64_t>(key_, size_, drawn);
      slots_.slots() = std::move(slots);
      return;
    }
    std::vector<int64_t> passed;
    while (slots_.drawn() < drawn) {
      look();
      passed.clear();
      Draw(std::min(drawn - slots_.drawn(), kSome), passed);
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
