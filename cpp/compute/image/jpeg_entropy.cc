// Decodes Huffman codes a coefficient at a look. Whatever is unusual is left to libjpeg: its
// decoder, which has not read anything yet, then goes over all MCUs up to there, and decodes the
// rest.
#if defined(PENSTOCK_HAS_JPEG)
#include "compute/image/jpeg_entropy.h"

#include <array>
#include <cstring>

#include "compute/image/jpeg_bits.h"
#include "compute/image/jpeg_huffman.h"

namespace penstock {
namespace {

#if defined(LIBJPEG_TURBO_VERSION_NUMBER)

// Natural positions of coefficients in zigzag order.
constexpr uint8_t kNatural[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                  12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                  35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                  58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
constexpr int kSymbolsPerRefill = 4;  // of at most kLookupBits bits each
static_assert(kSymbolsPerRefill * kLookupBits <= 56);

JpegMcuSource* EntropyOf(j_decompress_ptr info) {
  return reinterpret_cast<JpegMcuSource*>(info->entropy);
}

int SideOf(const jpeg_decompress_struct& info) {
#if JPEG_LIB_VERSION >= 70
  return info.min_DCT_h_scaled_size;
#else
  return info.min_DCT_scaled_size;
#endif
}

class TurboEntropy final : public JpegMcuSource, public JpegEntropy {
 public:
  TurboEntropy(j_decompress_ptr info, JDIMENSION first_column) : theirs_(EntropyOf(info)) {
    start_pass = nullptr;
    decode_mcu = OnMcu;
    insufficient_data = FALSE;
    const uint8_t* begin = info->src->next_input_byte;
    bits_ = JpegBits(begin, begin + info->src->bytes_in_buffer);
    columns_ = info->MCUs_per_row;
    NoteColumns(*info, first_column);
    restart_interval_ = to_restart_ = info->restart_interval;
    for (int i = 0; i < info->comps_in_scan; ++i) FillTables(*info, *info->cur_comp_info[i]);
    block_count_ = info->blocks_in_MCU;
    for (int i = 0; i < block_count_; ++i) {
      const jpeg_component_info& component = *info->cur_comp_info[info->MCU_membership[i]];
      Block& block = blocks_[i];
      block.dc = dc_tables_[component.dc_tbl_no].get();
      block.ac = ac_tables_[component.ac_tbl_no].get();
      block.component = info->MCU_membership[i];
      block.wanted = component.component_needed;
    }
    info->entropy = reinterpret_cast<jpeg_entropy_decoder*>(static_cast<JpegMcuSource*>(this));
  }

  static bool Takes(const jpeg_decompress_struct& info) {
    return info.data_precision == 8 && !info.arith_code && !info.progressive_mode &&
           info.comps_in_scan == info.num_components && info.Ss == 0 && info.Se == DCTSIZE2 - 1 &&
           info.Ah == 0 && info.Al == 0 && !info.buffered_image;
  }

 private:
  struct Block {  // of an MCU
    const HuffmanTable* dc;
    const HuffmanTable* ac;
    int component;
    bool wanted;  // by the colours that are asked for
  };

  static boolean OnMcu(j_decompress_ptr info, JBLOCKROW* blocks) {
    auto& self = *static_cast<TurboEntropy*>(EntropyOf(info));
    return self.Decode(blocks) ? TRUE : self.LeaveTo(info, blocks);
  }

  void NoteColumns(const jpeg_decompress_struct& info, JDIMENSION first_column) {
    auto side = static_cast<JDIMENSION>(SideOf(info));
    if (info.comps_in_scan > 1) side *= static_cast<JDIMENSION>(info.max_h_samp_factor);
    first_wanted_ = first_column / side;
    end_wanted_ = (first_column + info.output_width + side - 1) / side;
  }

  void FillTables(const jpeg_decompress_struct& info, const jpeg_component_info& component) {
    auto& dc = dc_tables_[component.dc_tbl_no];
    if (!dc) FillDcTable(*info.dc_huff_tbl_ptrs[component.dc_tbl_no], *(dc = NewTable()));
    auto& ac = ac_tables_[component.ac_tbl_no];
    if (!ac) FillAcTable(*info.ac_huff_tbl_ptrs[component.ac_tbl_no], *(ac = NewTable()));
  }
  static std::unique_ptr<HuffmanTable> NewTable() {
    return std::make_unique_for_overwrite<HuffmanTable>();
  }

  bool Decode(JBLOCKROW* blocks) {
    if (restart_interval_ > 0) {
      if (to_restart_ == 0 && !Restart()) return false;
      --to_restart_;
    }
    const bool wanted = blocks && column_ >= first_wanted_ && column_ < end_wanted_;
    JpegBits bits = bits_;
    bool sound = true;
    for (int i = 0; i < block_count_; ++i) {
      const Block& block = blocks_[i];
      JCOEF* out = wanted && block.wanted ? *blocks[i] : unwanted_;
      sound &= DecodeBlock(bits, block, out, dc_[static_cast<size_t>(block.component)]);
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
  static bool DecodeBlock(JpegBits& bits, const Block& block, JCOEF* out, int& last_dc) {
    bits.Refill();
    const HuffmanEntry entry = block.dc->entries[bits.Peek(kLookupBits)];
    bits.Take(entry & kEntryLength);
    int difference = ValueOf(entry);
    if (ZerosOf(entry) == kLonger) [[unlikely]] {
      const int size = SymbolOf(bits, *block.dc, entry);
      if (size < 0) return false;
      difference = TakeValue(bits, size);
    }
    last_dc += difference;
    out[0] = static_cast<JCOEF>(last_dc);
    return last_dc == out[0] && DecodeAc(bits, *block.ac, out);
  }

  static bool DecodeAc(JpegBits& bits, const HuffmanTable& table, JCOEF* out) {
    uint32_t k = 1;
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
    info->entropy = reinterpret_cast<jpeg_entropy_decoder*>(theirs_);
    for (size_t i = 0; i < finished_; ++i) theirs_->decode_mcu(info, nullptr);
    for (int i = 0; blocks && i < block_count_; ++i) std::memset(*blocks[i], 0, sizeof(JBLOCK));
    return theirs_->decode_mcu(info, blocks);
  }

  JpegMcuSource* const theirs_;
  JpegBits bits_;
  JDIMENSION columns_ = 0, column_ = 0;  // MCUs
  JDIMENSION first_wanted_ = 0, end_wanted_ = 0;
  unsigned restart_interval_ = 0, to_restart_ = 0;
  unsigned restarts_ = 0;
  size_t finished_ = 0;  // MCUs
  int block_count_ = 0;
  std::array<Block, D_MAX_BLOCKS_IN_MCU> blocks_{};
  std::array<int, MAX_COMPS_IN_SCAN> dc_{};  // the last ones
  std::array<std::unique_ptr<HuffmanTable>, NUM_HUFF_TBLS> dc_tables_, ac_tables_;
  JBLOCK unwanted_;  // what is walked over
};

#endif

}  // namespace

std::unique_ptr<JpegEntropy> JpegEntropy::Replace([[maybe_unused]] j_decompress_ptr info,
                                                  [[maybe_unused]] JDIMENSION first_column) {
#if defined(LIBJPEG_TURBO_VERSION_NUMBER)
  if (TurboEntropy::Takes(*info) && !jpeg_has_multiple_scans(info)) {
    return std::make_unique<TurboEntropy>(info, first_column);
  }
#endif
  return nullptr;
}

}  // namespace penstock
#endif
