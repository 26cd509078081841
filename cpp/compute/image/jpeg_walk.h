// Finds where the blocks of a scan begin, from two bits of its data on at once.
//
// A code begins where the one before it ends, and to find that out takes a processor longer than
// all that it can do meanwhile. So two walkers take turns. The second begins in the middle of what
// is at hand, where nobody knows yet what the bits are; but walkers that start at different bits
// soon go in step (in photographs after some 130 bytes, 1,400 at most). As soon as the first begins
// an MCU at a bit where the second began one, too, both would go the same way, and what the second
// has found is true. Where that does not happen, the first goes all the way.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "compute/image/jpeg_bits.h"
#include "compute/image/jpeg_huffman.h"

namespace penstock {

class JpegWalk {
 public:
  // The codes of one block of an MCU. All WalkTables are in one object.
  struct Block {
    const HuffmanTable *dc, *ac;
    const WalkTable *dc_walk, *ac_walk;
  };
  // Of data without restarts. `share`: bytes at hand for each walker.
  JpegWalk(const uint8_t* data, const uint8_t* end, std::span<const Block> blocks, size_t share);

  // Where the blocks of the next MCU begin: one is kStepsOfBlock numbers after the other. Null near
  // the end of the data, and at damage: what is left is decoded from Next on without a walk.
  const uint32_t* NextMcu();
  // The bits from there on, of the MCU that NextMcu has given last.
  JpegBits BitsAt(uint32_t position) const {
    JpegBits bits = JpegBits::OfPlain(bytes_.get() + position / 8, bytes_.get() + size_);
    bits.Refill();
    bits.Take(position % 8);
    return bits;
  }
  // The bit of the data, stuffed zeros included, where the MCU after that one begins.
  size_t Next() const;

  static constexpr size_t kStepsOfBlock = 2;  // the DC coefficient, and the others
  static constexpr size_t kShare = 8192;      // with which little is gone twice

 private:
  struct Step {
    const WalkEntry* walk;
    ptrdiff_t to_next_walk, to_next;
    const HuffmanTable* codes;
    bool dc;
  };
  struct Walker;
  struct Found {
    const uint32_t* next = nullptr;  // where MCUs begin, and at last where they end
    size_t mcus = 0;
  };

  void Fill();
  void TakeBytes();
  void Meet(Walker& first, Walker& second);
  Found FoundBy(Walker& walker) const;
  size_t StepsOfMcu() const { return steps_.size(); }
  uint64_t Load(uint32_t position) const;
  template <typename... Walkers>
  void Walk(Walkers&... walkers) const;
  template <typename... Walkers>
  std::tuple<Walkers...> Walked(Walkers... walkers) const;
  void StepOver(Walker& walker) const;
  Walker StepOverCode(Walker walker) const;

  const size_t share_;
  std::vector<Step> steps_;  // of an MCU
  // What is at hand: bytes of the data without stuffed zeros. Positions are bits of it.
  const std::unique_ptr<uint8_t[]> bytes_;
  size_t size_ = 0;
  const uint8_t* const data_;
  const uint8_t* const end_;
  const uint8_t* from_;            // where they begin in the data
  std::vector<uint32_t> stuffed_;  // after which of them a zero was left out
  const std::array<std::unique_ptr<uint32_t[]>, 2> positions_;  // that the walkers find
  std::array<Found, 2> found_;
  uint32_t next_ = 0;  // where the next MCU begins
};

}  // namespace penstock
#endif
