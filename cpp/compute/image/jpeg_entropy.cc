// Decodes Huffman codes with one lookup per coefficient. Anything unusual is left to libjpeg: its
// decoder, which has not read anything yet, then skips all MCUs up to there, and decodes the rest.
#if defined(PENSTOCK_HAS_JPEG)
#include "compute/image/jpeg_entropy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "compute/image/jpeg_bits.h"
#include "compute/image/jpeg_huffman.h"

namespace penstock {
namespace {

#if defined(LIBJPEG_TURBO_VERSION_NUMBER)

constexpr int kSymbolsPerRefill = 4;  // each of at most kLookupBits bits
static_assert(kSymbolsPerRefill * kLookupBits <= 56);
constexpr int kWalksPerRefill = 3, kWalksAfterDc = 1;
static_assert(kWalksPerRefill * kWalkMost <= 56);
constexpr int kMostOfDc = 16 + 15;  // bits of a code and its value
static_assert(kMostOfDc + kWalksAfterDc * kWalkMost <= 56);
// After about this many MCUs, tables for skipping save as much time as it takes to fill them.
constexpr int kMcusBeforeWalk = 2048;

class EntropyMcus final : public JpegMcus {
 public:
  // `always`: also where filling tables may take longer than they save.
  EntropyMcus(j_decompress_ptr info, JDIMENSION first_column, bool always)
      : JpegMcus(*info, first_column),
        theirs_(McuDecoderOf(info)),
        bits_(info->src->next_input_byte, info->src->next_input_byte + info->src->bytes_in_buffer),
        restart_interval_(info->restart_interval),
        to_restart_(info->restart_interval),
        walked_(always ? kMcusBeforeWalk - 1 : 0) {
    for (int i = 0; i < info->comps_in_scan; ++i) FillTables(*info, i);
    dc_alone_ = std::ranges::any_of(blocks_, &Block::dc_alone);
    decode_mcu = OnMcu;
    SetMcuDecoder(info, this);
  }

 private:
  struct Tables {
    const HuffmanTable* dc;
    const HuffmanTable* ac;
    const WalkTable* walk = nullptr;  // for those of `ac`; null until they are worth filling
  };

  static boolean OnMcu(j_decompress_ptr info, JBLOCKROW* blocks) {
    auto& self = *static_cast<EntropyMcus*>(McuDecoderOf(info));
    return self.Decode(*info, blocks) ? TRUE : self.LeaveTo(info, blocks);
  }

  void FillTables(const jpeg_decompress_struct& info, int number) {
    const jpeg_component_info& component = *info.cur_comp_info[number];
    auto& dc = dc_tables_[component.dc_tbl_no];
    if (!dc) FillDcTable(*info.dc_huff_tbl_ptrs[component.dc_tbl_no], *(dc = NewTable()));
    auto& ac = ac_tables_[component.ac_tbl_no];
    if (!ac) FillAcTable(*info.ac_huff_tbl_ptrs[component.ac_tbl_no], *(ac = NewTable()));
    tables_[static_cast<size_t>(number)] = {dc.get(), ac.get()};
  }
  void FillWalkTables(const jpeg_decompress_struct& info) {
    walks_ = std::make_unique_for_overwrite<WalkTable[]>(NUM_HUFF_TBLS);
    walked_ = kMcusBeforeWalk;  // do not fill them again
    for (size_t i = 0; i < NUM_HUFF_TBLS; ++i) {
      if (ac_tables_[i]) FillAcWalkTable(*info.ac_huff_tbl_ptrs[i], walks_[i]);
    }
    for (int i = 0; i < info.comps_in_scan; ++i) {
      tables_[static_cast<size_t>(i)].walk = &walks_[info.cur_comp_info[i]->ac_tbl_no];
    }
  }
  static std::unique_ptr<HuffmanTable> NewTable() {
    return std::make_unique_for_overwrite<HuffmanTable>();
  }

  bool Decode(const jpeg_decompress_struct& info, JBLOCKROW* blocks) {
    if (!DecodeMcu(info, blocks, Wanted(blocks))) return false;
    if (++column_ == columns_) column_ = 0;
    ++finished_;
    return true;
  }

  bool DecodeMcu(const jpeg_decompress_struct& info, JBLOCKROW* blocks, bool wanted) {
    if (restart_interval_ > 0) {
      if (to_restart_ == 0 && !Restart()) return false;
      --to_restart_;
    }
    const bool walk = !wanted || dc_alone_;
    if (walk && ++walked_ == kMcusBeforeWalk) FillWalkTables(info);
    return walk && tables_[0].walk ? DecodeBlocks<Part::kSome>(blocks, wanted)
                                   : DecodeBlocks<Part::kAll>(blocks, wanted);
  }

  // The decoded part. Each part has separate instances of the functions, called in one place, so
  // that they are inlined and the bits stay in registers.
  enum class Part : uint8_t {
    kAll,   // all coefficients of MCUs
    kSome,  // the needed ones; the others are skipped
    kRest,  // the rest of a block
  };

  template <Part kPart>
  bool DecodeBlocks(JBLOCKROW* blocks, bool wanted) {
    JpegBits bits = bits_;
    bool sound = true;
    for (int i = 0; i < block_count_; ++i) {
      const Block& block = blocks_[static_cast<size_t>(i)];
      const auto component = static_cast<size_t>(block.component);
      const Tables& tables = tables_[component];
      const bool kept = wanted && block.wanted;
      JCOEF* out = kept ? *blocks[i] : unwanted_;
      sound &= DecodeDc<kPart>(bits, tables, out, dc_[component]);
      if (kPart == Part::kSome && (!kept || block.dc_alone)) {
        sound = sound && WalkAc(bits, tables, unwanted_);
      } else {
        sound = sound && DecodeAc<kPart>(bits, *tables.ac, out, 1);
      }
    }
    if (!sound || !bits.Sound()) return false;
    bits_ = bits;
    return true;
  }

  bool Restart() {
    if (!bits_.Restart(static_cast<uint8_t>(JPEG_RST0 + restarts_ % 8))) return false;
    ++restarts_;
    to_restart_ = restart_interval_;
    dc_ = {};
    return true;
  }

  // False if there is no code, or the value is out of range for a coefficient.
  template <Part kPart>
  static bool DecodeDc(JpegBits& bits, const Tables& tables, JCOEF* out, int& last_dc) {
    bits.Refill();
    const HuffmanEntry entry = tables.dc->entries[bits.Peek(kLookupBits)];
    bits.Take(entry & kEntryLength);
    int difference = ValueOf(entry);
    if (ZerosOf(entry) == kLonger) [[unlikely]] {
      const int size = SymbolOf(bits, *tables.dc, entry);
      if (size < 0) return false;
      difference = TakeValue(bits, size);
    }
    return StoreDc(difference, out, last_dc);
  }

  static bool StoreDc(int difference, JCOEF* out, int& last_dc) {
    last_dc += difference;
    out[0] = static_cast<JCOEF>(last_dc);
    return last_dc == out[0];
  }

  // Decodes from coefficient `k` on.
  template <Part kPart>
  static bool DecodeAc(JpegBits& bits, const HuffmanTable& table, JCOEF* out, uint32_t k) {
    do {
      bits.Refill();
      for (int i = 0; i < kSymbolsPerRefill; ++i) {
        const HuffmanEntry entry = table.entries[bits.Peek(kLookupBits)];
        bits.Take(entry & kEntryLength);
        k += ZerosOf(entry);
        if (k >= DCTSIZE2) [[unlikely]] {
          if (ZerosOf(entry) != kLonger) return ZerosOf(entry) == kEndOfBlock;
          k -= kLonger;
          if (!DecodeLonger<kPart>(bits, table, entry, out, k)) return false;
          break;
        }
        out[kNatural[k]] = static_cast<JCOEF>(ValueOf(entry));
        k += 1 + (entry & kLast);
        if (k >= DCTSIZE2) {
          // There is no end-of-block code after coefficient 63: that code belongs to the next
          // block.
          if (k == DCTSIZE2 + kLast) bits.PutBack(table.end_code, table.end_length);
          return true;
        }
      }
    } while (k < DCTSIZE2);
    return true;
  }

  // Skips coefficients, several per lookup. The bits available after the DC coefficient are enough
  // for the first lookups.
  static bool WalkAc(JpegBits& bits, const Tables& tables, JCOEF* unwanted) {
    uint32_t k = 1;
    for (int walks = kWalksAfterDc;; walks = kWalksPerRefill) {
      for (; walks > 0; --walks) {
        const WalkEntry walk = tables.walk->entries[bits.Peek(kWalkBits)];
        const uint32_t after = k + CoefficientsOf(walk);
        // If coefficient 63 is among them, codes after it belong to the next block.
        if (after >= DCTSIZE2) [[unlikely]] {
          const Rest rest = DecodeRest(bits, *tables.ac, unwanted, k);
          bits = rest.bits;
          return rest.sound;
        }
        bits.Take(walk & kWalkLength);
        if (walk & kWalkEnds) return true;
        k = after;
      }
      bits.Refill();
    }
  }

  struct Rest {
    JpegBits bits;
    bool sound;
  };
  // Decodes a block from coefficient `k` on. Copies the bits, so that the caller's stay in
  // registers.
  static Rest DecodeRest(JpegBits bits, const HuffmanTable& table, JCOEF* out, uint32_t k) {
    const bool sound = DecodeAc<Part::kRest>(bits, table, out, k);
    return {bits, sound};
  }

  // Completes an entry with kLonger for the coefficient at `k`; sets `k` to the next one.
  template <Part kPart>
  static bool DecodeLonger(JpegBits& bits, const HuffmanTable& table, HuffmanEntry entry,
                           JCOEF* out, uint32_t& k) {
    bits.Refill();
    const int symbol = SymbolOf(bits, table, entry);
    if (symbol < 0) return false;
    const int size = symbol & 15, zeros = symbol >> 4;
    if (size == 0 && zeros < 15) {
      k = DCTSIZE2;
      return true;
    }
    k += static_cast<uint32_t>(zeros);
    if (k >= DCTSIZE2) return false;
    out[kNatural[k++]] = static_cast<JCOEF>(TakeValue(bits, size));
    return true;
  }

  // The symbol of an entry with kLonger; negative: no code.
  static int SymbolOf(JpegBits& bits, const HuffmanTable& table, HuffmanEntry entry) {
    if (entry & kEntryLength) return ValueOf(entry);
    const HuffmanCode code = CodeIn(bits.Peek(16), table, kLookupBits + 1);
    bits.Take(static_cast<uint32_t>(code.length));
    return code.length > 0 ? code.symbol : -1;
  }

  static int TakeValue(JpegBits& bits, int size) {
    const int value = ExtendedValue(bits.PeekSome(size), size);
    bits.Take(static_cast<uint32_t>(size));
    return value;
  }

  // libjpeg's decoder starts at the beginning of the data. Its errors may leave by a longjmp.
  boolean LeaveTo(j_decompress_ptr info, JBLOCKROW* blocks) {
    SetMcuDecoder(info, theirs_);
    for (size_t i = 0; i < finished_; ++i) theirs_->decode_mcu(info, nullptr);
    for (int i = 0; blocks && i < block_count_; ++i) std::memset(*blocks[i], 0, sizeof(JBLOCK));
    return theirs_->decode_mcu(info, blocks);
  }

  JpegMcuDecoder* const theirs_;
  JpegBits bits_;
  const unsigned restart_interval_;  // in MCUs; 0: no restarts
  unsigned to_restart_;
  unsigned restarts_ = 0;
  size_t finished_ = 0;  // MCUs that libjpeg received or skipped
  std::array<Tables, MAX_COMPS_IN_SCAN> tables_{};
  std::array<std::unique_ptr<HuffmanTable>, NUM_HUFF_TBLS> dc_tables_, ac_tables_;
  std::unique_ptr<WalkTable[]> walks_;  // of the AC tables
  bool dc_alone_ = false;               // some blocks become one pixel
  int walked_;                          // number of MCUs that were partly skipped
};

#endif

}  // namespace

std::unique_ptr<JpegMcus> DecodeEntropy([[maybe_unused]] j_decompress_ptr info,
                                        [[maybe_unused]] JDIMENSION first_column,
                                        [[maybe_unused]] bool always) {
#if defined(LIBJPEG_TURBO_VERSION_NUMBER)
  constexpr size_t kLeastBytes = 1024;  // below this, filling the tables takes as long as they save
  if (IsBaseline(info) && (always || info->src->bytes_in_buffer >= kLeastBytes)) {
    return std::make_unique<EntropyMcus>(info, first_column, always);
  }
#endif
  return nullptr;
}

}  // namespace penstock
#endif
