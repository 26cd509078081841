// Converts rows of colours by our own loops.
#if defined(PENSTOCK_HAS_JPEG)
#include "compute/image/jpeg_colors.h"

#include "compute/image/pixel_loops.h"

namespace penstock {

#if defined(LIBJPEG_TURBO_VERSION_NUMBER)

namespace {

// The conversion of libjpeg as it sees it itself (jpegint.h, the same in all versions of
// libjpeg-turbo).
struct JpegColors {
  void (*start_pass)(j_decompress_ptr);
  void (*convert)(j_decompress_ptr, JSAMPIMAGE planes, JDIMENSION row, JSAMPARRAY out, int rows);
};

void OnRows(j_decompress_ptr info, JSAMPIMAGE planes, JDIMENSION row, JSAMPARRAY out, int rows) {
  const auto convert = PixelLoopsOf(ChosenInstructionSet()).ycc_to_rgb;
  for (int i = 0; i < rows; ++i, ++row) {
    convert(planes[0][row], planes[1][row], planes[2][row], info->output_width, out[i]);
  }
}

}  // namespace

void ConvertColors(j_decompress_ptr info) {
  auto* colors = reinterpret_cast<JpegColors*>(info->cconvert);
  const bool ours = PixelLoopsOf(ChosenInstructionSet()).ycc_to_rgb && colors &&
                    info->jpeg_color_space == JCS_YCbCr && info->out_color_space == JCS_RGB &&
                    info->num_components == 3 && info->data_precision == 8;
  if (ours) colors->convert = OnRows;
}

#else

void ConvertColors(j_decompress_ptr) {}

#endif

}  // namespace penstock
#endif
