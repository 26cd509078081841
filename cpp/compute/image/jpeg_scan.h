// Reads all MCUs of a JPEG in order, without producing pixels.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include <csetjmp>
#include <memory>
#include <string_view>

#include "compute/image/jpeg_entropy.h"

namespace penstock {

class JpegScan {
 public:
  explicit JpegScan(std::string_view jpeg) : jpeg_(jpeg) {}
  virtual ~JpegScan() { jpeg_destroy_decompress(&info_); }
  JpegScan(const JpegScan&) = delete;
  JpegScan& operator=(const JpegScan&) = delete;

  // Calls Take for each MCU. False if the file is not an intact JPEG that our decoder supports, or
  // if Take returned false.
  bool Read();

  const jpeg_decompress_struct& info() const { return info_; }
  size_t header_size() const { return header_size_; }  // bytes before the data

 protected:
  // Receives the blocks of the MCU at `column` of a row.
  virtual bool Take(JDIMENSION column, const JBLOCK* blocks) = 0;

  JpegPoint Next() const { return mcus_->Next(); }  // where the next MCU begins

 private:
  [[noreturn]] static void OnError(j_common_ptr info);
  static void OnWarning(j_common_ptr info, int level);
  bool Start();
  bool ReadMcu();

  const std::string_view jpeg_;
  size_t header_size_ = 0;
  JBLOCK blocks_[D_MAX_BLOCKS_IN_MCU];
  std::unique_ptr<DecodedMcus> mcus_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  std::jmp_buf escape_;
};

}  // namespace penstock
#endif
