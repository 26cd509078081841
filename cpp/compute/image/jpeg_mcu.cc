// What sources of MCUs share: which blocks exist, and which of them are shown.
#if defined(PENSTOCK_HAS_JPEG)
#include "compute/image/jpeg_mcu.h"

namespace penstock {
namespace {

int SideOf(const jpeg_decompress_struct& info) {
#if JPEG_LIB_VERSION >= 70
  return info.min_DCT_h_scaled_size;
#else
  return info.min_DCT_scaled_size;
#endif
}

// Whether each block of a component becomes one pixel.
bool IsDcAlone(const jpeg_component_info& component) {
#if JPEG_LIB_VERSION >= 70
  return component.DCT_h_scaled_size == 1 && component.DCT_v_scaled_size == 1;
#else
  return component.DCT_scaled_size == 1;
#endif
}

}  // namespace

JpegMcus::JpegMcus(const jpeg_decompress_struct& info, JDIMENSION first_column)
    : columns_(info.MCUs_per_row), block_count_(info.blocks_in_MCU) {
  start_pass = nullptr;
  decode_mcu = nullptr;
  insufficient_data = FALSE;
  auto side = static_cast<JDIMENSION>(SideOf(info));
  if (info.comps_in_scan > 1) side *= static_cast<JDIMENSION>(info.max_h_samp_factor);
  first_wanted_ = first_column / side;
  end_wanted_ = (first_column + info.output_width + side - 1) / side;
  for (int i = 0; i < block_count_; ++i) {
    const int component = info.MCU_membership[i];
    const jpeg_component_info& of = *info.cur_comp_info[component];
    blocks_[static_cast<size_t>(i)] = {component, of.component_needed != FALSE, IsDcAlone(of)};
  }
}

bool IsBaseline(j_decompress_ptr info) {
  return info->data_precision == 8 && !info->arith_code && !info->progressive_mode &&
         info->comps_in_scan == info->num_components && info->Ss == 0 && info->Se == DCTSIZE2 - 1 &&
         info->Ah == 0 && info->Al == 0 && !info->buffered_image && !jpeg_has_multiple_scans(info);
}

}  // namespace penstock
#endif
