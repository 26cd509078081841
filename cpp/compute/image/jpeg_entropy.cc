// Decodes Huffman codes a coefficient at a look. Whatever is unusual is left to libjpeg: its
// decoder, which has not read anything yet, then goes over all MCUs up to there, and decodes the
// rest.
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

constexpr int kSymbolsPerRefill = 4;  // of at most kLookupBits bits each
static_assert(kSymbolsPerRefill * kLookupBits <= 56);
constexpr int kWalksPerRefill = 4;
static_assert(kWalksPerRefill * kWalkBits <= 56);
// After as many MCUs of which not all is wanted, tables to walk over them: as long as they take.
constexpr int kMcusBeforeWalk = 256;

class EntropyMcus final : public JpegMcus {
 public:
  // `always`: also where tables may take longer than they save.
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
    const WalkTable* walk = nullptr;  // over those of `ac`, once there is reason to have it
  };

  static boolean OnMcu(j_decompress_ptr info, JBLOCKROW* blocks) {
    auto& self = *static_cast<EntropyMcus*>(McuDecoderOf(info));
    return self.Decode(blocks) ? TRUE : self.LeaveTo(info, blocks);
  }

  void FillTables(const jpeg_decompress_struct& info, int number) {
    const jpeg_component_info& component = *info.cur_comp_info[number];
    auto& dc = dc_tables_[component.dc_tbl_no];
    if (!dc) FillDcTable(*info.dc_huff_tbl_ptrs[component.dc_tbl_no], *(dc = NewTable()));
    auto& ac = ac_tables_[component.ac_tbl_no];
    if (!ac) FillAcTable(*info.ac_huff_tbl_ptrs[component.ac_tbl_no], *(ac = NewTable()));
    tables_[static_cast<size_t>(number)] = {dc.get(), ac.get()};
    ac_numbers_[static_cast<size_t>(number)] = static_cast<size_t>(component.ac_tbl_no);
  }
  void FillWalkTables() {
    for (size_t i = 0; i < tables_.size() && tables_[i].ac; ++i) {
      auto& walk = walk_tables_[ac_numbers_[i]];
      if (!walk) {
        walk = std::make_unique_for_overwrite<WalkTable>();
        FillWalkTable(*tables_[i].ac, *walk);
      }
      tables_[i].walk = walk.get();
    }
  }
  static std::unique_ptr<HuffmanTable> NewTable() {
    return std::make_unique_for_overwrite<HuffmanTable>();
  }

  bool Decode(JBLOCKROW* blocks) {
    if (restart_interval_ > 0) {
      if (to_restart_ == 0 && !Restart()) return false;
      --to_restart_;
    }
    const bool wanted = Wanted(blocks);
    if ((!wanted || dc_alone_) && ++walked_ == kMcusBeforeWalk) FillWalkTables();
    JpegBits bits = bits_;
    bool sound = true;
    for (int i = 0; i < block_count_; ++i) {
      const Block& block = blocks_[static_cast<size_t>(i)];
      const auto component = static_cast<size_t>(block.component);
      const Tables& tables = tables_[component];
      const bool kept = wanted && block.wanted;
      JCOEF* out = kept ? *blocks[i] : unwanted_;
      sound &= DecodeDc(bits, tables, out, dc_[component]) &&
               (tables.walk && (!kept || block.dc_alone) ? WalkAc(bits, tables, unwanted_)
                                                         : DecodeAc(bits, *tables.ac, out));
    }
    if (!sound || !bits.Sound()) return false;
    bits_ = bits;
    if (++column_ == columns_) column_ = 0;
    ++finished_;
    return true;
  }

  bool Restart() {
    if (!bits_.Restart(static_cast<uint8_t>(JPEG_RST0 + restarts_ % 8))) return false;
    ++restarts_;
    to_restart_ = restart_interval_;
    dc_ = {};
    return true;
  }

  // False at what is no code, or no coefficient of a block.
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
    last_dc += difference;
    out[0] = static_cast<JCOEF>(last_dc);
    return last_dc == out[0];
  }

  // From coefficient `k` on.
  static bool DecodeAc(JpegBits& bits, const HuffmanTable& table, JCOEF* out, uint32_t k = 1) {
    do {
      bits.Refill();
      for (int i = 0; i < kSymbolsPerRefill; ++i) {
        const HuffmanEntry entry = table.entries[bits.Peek(kLookupBits)];
        bits.Take(entry & kEntryLength);
        k += ZerosOf(entry);
        if (k >= DCTSIZE2) [[unlikely]] {
          if (ZerosOf(entry) != kLonger) return ZerosOf(entry) == kEndOfBlock;
          k -= kLonger;
          if (!DecodeLonger(bits, table, entry, out, k)) return false;
          break;
        }
        out[kNatural[k]] = static_cast<JCOEF>(ValueOf(entry));
        k += 1 + (entry & kLast);
        if (k >= DCTSIZE2) {
          // After the last coefficient of all there is no end: it is of the next block.
          if (k == DCTSIZE2 + kLast) bits.PutBack(table.end_code, table.end_length);
          return true;
        }
      }
    } while (k < DCTSIZE2);
    return true;
  }

  // The same, several coefficients at a look, none of which is wanted.
  static bool WalkAc(JpegBits& bits, const Tables& tables, JCOEF* unwanted) {
    uint32_t k = 1;
    do {
      bits.Refill();
      for (int i = 0; i < kWalksPerRefill; ++i) {
        const WalkEntry walk = tables.walk->entries[bits.Peek(kWalkBits)];
        if ((walk & kWalkLength) == 0) [[unlikely]] {
          const HuffmanEntry entry = tables.ac->entries[bits.Peek(kLookupBits)];
          bits.Take(entry & kEntryLength);
          if (!DecodeLonger(bits, *tables.ac, entry, unwanted, k)) return false;
          break;
        }
        // Where the last coefficient of all is among them, codes after it are of the next block.
        if (k + CoefficientsOf(walk) >= DCTSIZE2) [[unlikely]] {
          return DecodeAc(bits, *tables.ac, unwanted, k);
        }
        bits.Take(walk & kWalkLength);
        k += CoefficientsOf(walk);
        if (walk & kWalkEnds) return true;
      }
    } while (k < DCTSIZE2);
    return true;
  }

  // The rest of an entry that is kLonger, for the coefficient at `k`, which becomes that of the
  // next.
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

  // The symbol of an entry that is kLonger; negative: no code.
  static int SymbolOf(JpegBits& bits, const HuffmanTable& table, HuffmanEntry entry) {
    if (entry & kEntryLength) return ValueOf(entry);
    const uint32_t code = bits.Peek(16);
    for (int length = kLookupBits + 1; length <= 16; ++length) {
      if (code >= table.limits[length]) continue;
      bits.Take(static_cast<uint32_t>(length));
      return table.symbols[table.places[length] + static_cast<int>(code >> (16 - length))];
    }
    return -1;
  }

  static int TakeValue(JpegBits& bits, int size) {
    if (size == 0) return 0;
    const int value = ExtendedValue(bits.Peek(size), size);
    bits.Take(static_cast<uint32_t>(size));
    return value;
  }

  // libjpeg's own decoder begins where the data do. Its errors may leave by a longjmp.
  boolean LeaveTo(j_decompress_ptr info, JBLOCKROW* blocks) {
    SetMcuDecoder(info, theirs_);
    for (size_t i = 0; i < finished_; ++i) theirs_->decode_mcu(info, nullptr);
    for (int i = 0; blocks && i < block_count_; ++i) std::memset(*blocks[i], 0, sizeof(JBLOCK));
    return theirs_->decode_mcu(info, blocks);
  }

  JpegMcuDecoder* const theirs_;
  JpegBits bits_;
  const unsigned restart_interval_;  // MCUs; 0: there are no restarts
  unsigned to_restart_;
  unsigned restarts_ = 0;
  size_t finished_ = 0;  // MCUs
  std::array<Tables, MAX_COMPS_IN_SCAN> tables_{};
  std::array<std::unique_ptr<HuffmanTable>, NUM_HUFF_TBLS> dc_tables_, ac_tables_;
  std::array<size_t, MAX_COMPS_IN_SCAN> ac_numbers_{};  // which of them a component has
  std::array<std::unique_ptr<WalkTable>, NUM_HUFF_TBLS> walk_tables_;
  bool dc_alone_ = false;  // some blocks become one pixel
  int walked_;             // MCUs of which not all is wanted
};

#endif

}  // namespace

std::unique_ptr<JpegMcus> DecodeEntropy([[maybe_unused]] j_decompress_ptr info,
                                        [[maybe_unused]] JDIMENSION first_column,
                                        [[maybe_unused]] bool always) {
#if defined(LIBJPEG_TURBO_VERSION_NUMBER)
  constexpr size_t kLeastBytes = 1024;  // where filling the tables takes as long as they save
  if (IsBaseline(info) && (always || info->src->bytes_in_buffer >= kLeastBytes)) {
    return std::make_unique<EntropyMcus>(info, first_column, always);
  }
#endif
  return nullptr;
}

}  // namespace penstock
#endif
