// The inner loops of resizing, for each instruction set. All produce the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/instruction_set.h"

namespace penstock {

// Pixels of three floats are processed as four values, the last of which belongs to the next pixel,
// and loops over lanes or over four pixels write a few values too many. Rows therefore end with
// spare floats.
constexpr int64_t kSpareFloats = 16;

// The two neighbours of an output position, as offsets into a row, and the weight of the upper one.
struct Tap {
  int64_t lower, upper;
  float weight;
};

// The same for a row of bytes, in lanes of four output values. The bytes of a lane come from one
// window of 16 bytes, or from two of 8.
struct ByteTaps {
  static constexpr int64_t kValues = 4;
  static constexpr int64_t kLanes = 2;  // the number of lanes is a multiple of this
  static constexpr int64_t kWindow = 16;

  const int32_t* windows[2];  // their offsets in the row, for each lane
  const uint32_t* lower;      // the byte of the window for each value, as a shuffle mask
  const uint32_t* upper;
  const float* weights;
  int64_t lanes;
};

// The same for a row of pixels of three bytes. The neighbours of each output pixel come from one
// window of 8 bytes: the lower one and the bytes after it.
struct PixelTaps {
  static constexpr int64_t kTogether = 4;  // the number of pixels is a multiple of this

  const int32_t* windows;  // their offsets in the row
  const float* weights;    // four equal ones per pixel; 0 where both neighbours are the same
  int64_t pixels;
};

// The inputs [first, first + count) of an output position, and the index of their first weight.
struct FilterSpan {
  int64_t first, count;
  size_t weights;
};

struct ResizeLoops {
  // From rows of `channels` interleaved floats. Specialised for 1, 3 and 4 channels; entry 0 is for
  // any.
  using BlendColumns = void (*)(const float* in, const Tap* taps, int64_t count, int64_t channels,
                                float* out);
  BlendColumns blend_columns[5];
  // With one window, and with two; null where the CPU has no shuffle.
  using BlendBytes = void (*)(const uint8_t* in, const ByteTaps& taps, float* out);
  BlendBytes blend_bytes[2];
  // Null where the CPU has nothing faster than lanes.
  void (*blend_pixels)(const uint8_t* in, const PixelTaps& taps, float* out);
  void (*blend_rows)(const float* top, const float* bottom, float weight, int64_t count,
                     float* out);
  // sum[i] += in[i] * weight
  void (*add_bytes)(const uint8_t* in, float weight, int64_t count, float* sum);
  void (*add_floats)(const float* in, float weight, int64_t count, float* sum);
  // Weighted sums of pixels, in order.
  using FilterColumns = void (*)(const float* in, const FilterSpan* spans, int64_t count,
                                 const float* weights, int64_t channels, float* out);
  FilterColumns filter_columns[5];

  BlendColumns BlenderOf(int64_t channels) const { return Of(blend_columns, channels); }
  FilterColumns FilterOf(int64_t channels) const { return Of(filter_columns, channels); }

 private:
  template <typename Loop>
  static Loop Of(const Loop (&loops)[5], int64_t channels) {
    return loops[channels < 5 && loops[channels] ? channels : 0];
  }
};

const ResizeLoops& ResizeLoopsOf(InstructionSet set);

}  // namespace penstock
