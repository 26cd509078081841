// Decodes the Huffman codes of a JPEG with our decoder alone: anything it would leave to libjpeg
// counts as damage.
#if defined(PENSTOCK_HAS_JPEG)
#include "compute/image/jpeg_scan.h"

#include <cstring>

namespace penstock {

void JpegScan::OnError(j_common_ptr info) {
  std::longjmp(static_cast<JpegScan*>(info->client_data)->escape_, 1);
}

void JpegScan::OnWarning(j_common_ptr info, int level) {
  if (level < 0) ++info->err->num_warnings;
}

bool JpegScan::Read() {
  if (!Start()) return false;
  for (JDIMENSION row = 0; row < info_.MCU_rows_in_scan; ++row) {
    for (JDIMENSION column = 0; column < info_.MCUs_per_row; ++column) {
      if (!ReadMcu() || !Take(column, blocks_)) return false;
    }
  }
  return true;
}

// A longjmp may leave any function below, so none may have an object with a destructor.
bool JpegScan::Start() {
  if (setjmp(escape_)) return false;
  info_.err = jpeg_std_error(&errors_);
  errors_.error_exit = OnError;
  errors_.emit_message = OnWarning;
  info_.client_data = this;
  jpeg_create_decompress(&info_);
  jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(jpeg_.data()), jpeg_.size());
  jpeg_read_header(&info_, TRUE);
  if (info_.progressive_mode || info_.arith_code || jpeg_has_multiple_scans(&info_)) return false;
  jpeg_start_decompress(&info_);
  header_size_ = jpeg_.size() - info_.src->bytes_in_buffer;
  mcus_ = DecodeEntropy(&info_, 0, {}, true);
  return mcus_ != nullptr;
}

bool JpegScan::ReadMcu() {
  if (setjmp(escape_)) return false;
  std::memset(blocks_, 0, sizeof(JBLOCK) * static_cast<size_t>(info_.blocks_in_MCU));
  JBLOCKROW blocks[D_MAX_BLOCKS_IN_MCU];
  for (int i = 0; i < info_.blocks_in_MCU; ++i) blocks[i] = &blocks_[i];
  mcus_->decode_mcu(&info_, blocks);
  return McuDecoderOf(&info_) == mcus_.get() && errors_.num_warnings == 0;
}

}  // namespace penstock
#endif
