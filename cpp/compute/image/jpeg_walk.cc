// The two walkers, and where they meet.
#if defined(PENSTOCK_HAS_JPEG)
#include "compute/image/jpeg_walk.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

constexpr size_t kAfter = 16;           // readable bytes after the buffer
constexpr uint32_t kLongestSteps = 96;  // maximum number of bits between two checks for room
constexpr int kStepsPerLoad = 3;
static_assert(kStepsPerLoad * kWalkMost <= 56 && kStepsPerLoad * (16 + 15) <= kLongestSteps);
// Room for positions per byte of a walker's share: exceeded only if nearly all blocks are empty.
constexpr size_t kStepsPerByte = 4;

constexpr uint32_t kMostAc = DCTSIZE2 - 1;  // coefficients of a block

constexpr uint32_t BitsOf(size_t bytes) { return static_cast<uint32_t>(8 * bytes); }

}  // namespace

struct JpegWalk::Walker {
  Walker(const Step& first_step, uint32_t begin, uint32_t end, std::span<uint32_t> positions)
      : position(begin),
        limit(end),
        step(&first_step),
        walk(step->walk),
        at(positions.data()),
        last(at + positions.size()),
        first(at),
        sound(at) {}

  bool HasRoom() const { return position < limit && at < last; }

  uint64_t bits = 0;  // the next bits, from the highest
  uint32_t position;  // of the next bit
  uint32_t limit;     // where the walk ends
  uint64_t k = 0;     // AC coefficients of the current block passed so far
  const Step* step;
  const WalkEntry* walk;  // for this step
  uint32_t* at;           // where to store the position of this step
  const uint32_t* last;   // end of the room for positions
  uint32_t* first;
  const uint32_t* sound;  // the first step after the last invalid code
  bool stops = true;      // whether it stops at an invalid code
};

JpegWalk::JpegWalk(const uint8_t* data, const uint8_t* end, std::span<const Block> blocks,
                   size_t share)
    : share_(share),
      bytes_(std::make_unique_for_overwrite<uint8_t[]>(2 * share + kAfter)),
      data_(data),
      end_(end),
      from_(data),
      positions_{
          std::make_unique_for_overwrite<uint32_t[]>(kStepsPerByte * share + kStepsPerLoad + 1),
          std::make_unique_for_overwrite<uint32_t[]>(kStepsPerByte * share + kStepsPerLoad + 1)} {
  for (const Block& block : blocks) {
    steps_.push_back({block.dc_walk->entries, 0, 1, block.dc, true});
    steps_.push_back({block.ac_walk->entries, 0, 1, block.ac, false});
  }
  steps_.back().to_next -= static_cast<ptrdiff_t>(steps_.size());
  for (Step& step : steps_) step.to_next_walk = (&step)[step.to_next].walk - step.walk;
}

const uint32_t* JpegWalk::NextMcu() {
  if (found_[0].mcus == 0) {
    found_[0] = found_[1];
    found_[1] = {};
    if (found_[0].mcus == 0) Fill();
    if (found_[0].mcus == 0) return nullptr;
  }
  const uint32_t* mcu = found_[0].next;
  found_[0].next += StepsOfMcu();
  --found_[0].mcus;
  next_ = *found_[0].next;
  return mcu;
}

size_t JpegWalk::Next() const {
  const uint32_t byte = next_ / 8;
  const auto zeros = std::ranges::lower_bound(stuffed_, byte) - stuffed_.begin();
  return 8 * (static_cast<size_t>(from_ - data_) + byte + static_cast<size_t>(zeros)) + next_ % 8;
}

// Finds MCUs from `next_` on.
void JpegWalk::Fill() {
  const size_t bit = Next();
  from_ = data_ + bit / 8;
  next_ = static_cast<uint32_t>(bit % 8);
  TakeBytes();
  if (size_ < share_ / 4) return;
  const uint32_t end = BitsOf(size_) - kLongestSteps, middle = BitsOf(size_ / 2);
  const size_t most = kStepsPerByte * share_;
  Walker first(steps_[0], next_, middle, {positions_[0].get(), most});
  Walker second(steps_[0], middle, end, {positions_[1].get(), most});
  second.stops = false;
  Walk(first, second);
  Walk(first);
  Walk(second);
  first.limit = end;
  Meet(first, second);
}

// Copies the bytes from `from_` on, as many as fit.
void JpegWalk::TakeBytes() {
  stuffed_.clear();
  size_ = 0;
  for (const uint8_t* from = from_; size_ < 2 * share_ && from < end_;) {
    const size_t most = std::min(2 * share_ - size_, static_cast<size_t>(end_ - from));
    const void* found = std::memchr(from, 0xFF, most);
    const size_t plain =
        found ? static_cast<size_t>(static_cast<const uint8_t*>(found) - from) : most;
    std::memcpy(bytes_.get() + size_, from, plain);
    size_ += plain;
    from += plain;
    if (!found) continue;
    if (end_ - from < 2 || from[1] != 0) break;  // a marker
    stuffed_.push_back(static_cast<uint32_t>(size_));
    bytes_[size_++] = 0xFF;
    from += 2;
  }
  std::memset(bytes_.get() + size_, 0, kAfter);
}

// Continues the first walker until it begins an MCU at a bit where the second did.
void JpegWalk::Meet(Walker& first, Walker& second) {
  const uint32_t end = first.limit;
  const size_t steps = StepsOfMcu();
  Found seconds = FoundBy(second);
  // The second was not synchronised before its last invalid code.
  for (; seconds.mcus > 0 && seconds.next < second.sound; --seconds.mcus) seconds.next += steps;
  const uint32_t* begun = first.first;
  for (; seconds.mcus > 0; --seconds.mcus, seconds.next += steps) {
    first.limit = std::min(end, *seconds.next + 1);
    Walk(first);
    while (begun < first.at && *begun < *seconds.next) begun += steps;
    if (begun < first.at && *begun == *seconds.next) {
      const auto mcus = static_cast<size_t>(begun - first.first) / steps;
      found_ = {Found{first.first, mcus}, seconds};
      return;
    }
  }
  first.limit = end;
  Walk(first);
  found_[0] = FoundBy(first);
}

// All complete MCUs.
JpegWalk::Found JpegWalk::FoundBy(Walker& walker) const {
  const auto steps = static_cast<size_t>(walker.at - walker.first);
  const size_t mcus = steps / StepsOfMcu();
  if (steps % StepsOfMcu() == 0) *walker.at = walker.position;  // where the next one begins
  return {walker.first, mcus};
}

// The next bits, at least 56 of them.
[[gnu::always_inline]] inline uint64_t JpegWalk::Load(uint32_t position) const {
  uint64_t word;
  std::memcpy(&word, bytes_.get() + position / 8, sizeof(word));
  return __builtin_bswap64(word) << position % 8;
}

template <typename... Walkers>
void JpegWalk::Walk(Walkers&... walkers) const {
  std::tie(walkers...) = Walked(walkers...);
}

// Copies the walkers, so that they stay in registers.
template <typename... Walkers>
std::tuple<Walkers...> JpegWalk::Walked(Walkers... walkers) const {
  while ((walkers.HasRoom() && ...)) {
    ((walkers.bits = Load(walkers.position)), ...);
    (StepOver(walkers), ...);
    (StepOver(walkers), ...);
    (StepOver(walkers), ...);
  }
  return {walkers...};
}

// Skips several codes per lookup. Free of branches, because the end of a step is unpredictable.
[[gnu::always_inline]] inline void JpegWalk::StepOver(Walker& walker) const {
  const WalkEntry entry = walker.walk[walker.bits >> (64 - kWalkBits)];
  *walker.at = walker.position;
  const uint64_t k = walker.k + CoefficientsOf(entry);
  // If coefficient 63 is among them, codes after it belong to the next block.
  if (k >= kMostAc) [[unlikely]] {
    walker = StepOverCode(walker);
    return;
  }
  walker.bits <<= entry & kWalkLength;
  walker.position += entry & kWalkLength;
  const ptrdiff_t mask = EndsMask(entry);
  walker.k = k & ~static_cast<uint64_t>(mask);
  walker.at -= mask;
  walker.walk += walker.step->to_next_walk & mask;
  walker.step += walker.step->to_next & mask;
}

// Skips one code of any length. Copies the walker, so that the caller's stays in registers.
JpegWalk::Walker JpegWalk::StepOverCode(Walker walker) const {
  const Step& step = *walker.step;
  const auto next = static_cast<uint32_t>(Load(walker.position) >> 48);
  const HuffmanCode code = CodeIn(next, *step.codes, 1);
  const int zeros = code.symbol >> 4, size = code.symbol & 15;
  const bool end = !step.dc && size == 0 && zeros < 15;
  if (!step.dc && !end) walker.k += static_cast<uint32_t>(zeros) + 1;
  if (code.length == 0 || walker.k > kMostAc) {
    if (walker.stops) {
      walker.last = walker.at;
      return walker;
    }
    walker.sound = walker.at + 1;
  }
  walker.position += static_cast<uint32_t>(std::max(code.length, 1) + size);
  walker.bits = Load(walker.position);
  if (step.dc || end || walker.k >= kMostAc) {
    walker.k = 0;
    ++walker.at;
    walker.walk += step.to_next_walk;
    walker.step += step.to_next;
  }
  return walker;
}

}  // namespace penstock
#endif
