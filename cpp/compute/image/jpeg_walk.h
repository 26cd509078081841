// Finds where the blocks of a scan begin, decoding its data from two positions in parallel.
//
// A code begins where the previous one ends. Finding that end is a chain of dependent steps, which
// leaves most of the CPU idle. So two walkers alternate. The second begins in the middle of the
// buffer, at an unknown bit alignment; but walkers that start at different bits soon synchronise
// (in photographs after about 130 bytes, 1,400 at most). When the first begins an MCU at a bit
// where the second also began one, both would continue identically, so the second walker's results
// are correct from there on. If that never happens, the first walks through everything.
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
  // The codes of one block of an MCU. All WalkTables must be in one object.
  struct Block {
    const HuffmanTable *dc, *ac;
    const WalkTable *dc_walk, *ac_walk;
  };
  // For data without restarts. `share`: bytes in the buffer for each walker.
  JpegWalk(const uint8_t* data, const uint8_t* end, std::span<const Block> blocks, size_t share);

  // The positions of the blocks of the next MCU, kStepsOfBlock numbers per block. Null near the end
  // of the data, and at damage: the rest is decoded from Next on, without a walk.
  const uint32_t* NextMcu();
  // The bits from a position of the MCU that NextMcu returned last.
  JpegBits BitsAt(uint32_t position) const {
    JpegBits bits = JpegBits::OfPlain(bytes_.get() + position / 8, bytes_.get() + size_);
    bits.Refill();
    bits.Take(position % 8);
    return bits;
  }
  // The bit of the data, counting stuffed zeros, where the MCU after that one begins.
  size_t Next() const;

  static constexpr size_t kStepsOfBlock = 2;  // the DC coefficient, and the others
  static constexpr size_t kShare = 8192;      // large enough that little is walked twice

 private:
  struct Step {
    const WalkEntry* walk;
    ptrdiff_t to_next_walk, to_next;
    const HuffmanTable* codes;
    bool dc;
  };
  struct Walker;
  struct Found {
    const uint32_t* next = nullptr;  // where MCUs begin, then where the last one ends
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
  // The buffer: bytes of the data without stuffed zeros. Positions are bit offsets in it.
  const std::unique_ptr<uint8_t[]> bytes_;
  size_t size_ = 0;
  const uint8_t* const data_;
  const uint8_t* const end_;
  const uint8_t* from_;            // the beginning of the buffer in the data
  std::vector<uint32_t> stuffed_;  // the bytes in the buffer after which a zero was removed
  const std::array<std::unique_ptr<uint32_t[]>, 2> positions_;  // found by the walkers
  std::array<Found, 2> found_;
  uint32_t next_ = 0;  // where the next MCU begins
};

}  // namespace penstock
#endif
