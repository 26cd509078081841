// Converts rows of colours with our own loops.
#if defined(PENSTOCK_HAS_JPEG)
#include "compute/image/jpeg_colors.h"

namespace penstock {

#if defined(LIBJPEG_TURBO_VERSION_NUMBER)

namespace {

void OnRows(j_decompress_ptr info, JSAMPIMAGE planes, JDIMENSION row, JSAMPARRAY out, int rows) {
  const auto& ours = *reinterpret_cast<const JpegColors*>(info->cconvert);
  for (int i = 0; i < rows; ++i, ++row) {
    ours.ycc_to_rgb(planes[0][row], planes[1][row], planes[2][row], info->output_width, out[i]);
  }
}

}  // namespace

std::unique_ptr<JpegColors> ConvertColors(j_decompress_ptr info) {
  const auto ycc_to_rgb = PixelLoopsOf(ChosenInstructionSet()).ycc_to_rgb;
  // With merged upsampling, libjpeg has no separate colour conversion.
  const bool fits = info->cconvert && info->jpeg_color_space == JCS_YCbCr &&
                    info->out_color_space == JCS_RGB && info->num_components == 3 &&
                    info->data_precision == 8;
  if (!ycc_to_rgb || !fits) return nullptr;
  const auto start_pass = reinterpret_cast<JpegColors*>(info->cconvert)->start_pass;
  auto ours = std::make_unique<JpegColors>(JpegColors{start_pass, OnRows, ycc_to_rgb});
  info->cconvert = reinterpret_cast<jpeg_color_deconverter*>(ours.get());
  return ours;
}

#else

std::unique_ptr<JpegColors> ConvertColors(j_decompress_ptr) { return nullptr; }

#endif

}  // namespace penstock
#endif
