// Converts images from one number type to another: scaled like convert_image_dtype, or only cast.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/cast_items.h"

namespace penstock {

// Scale, cast, scale: the cast is always done, the scalings where TensorFlow does them.
class ImageConversion {
 public:
  // A scaling before or after the cast: shifts integers or multiplies floats, then clips.
  struct Scaling {
    int shift = 0;
    double factor = 1;
    bool clip = false;
    int64_t low = 0;  // the range of the integer type to clip to
    uint64_t high = 0;
  };
  using ScaleLoop = void (*)(const void* in, void* out, size_t count, const Scaling& scaling);

  // Both types are integers or floats. `saturate` clips to the range of an integer type.
  static ImageConversion Scaled(TypeCode from, TypeCode to, bool saturate);
  // Converts values without scaling; both types are real.
  static ImageConversion Cast(TypeCode from, TypeCode to);

  // Whether input and output are identical.
  bool same() const { return same_; }
  size_t from_size() const { return from_size_; }  // of an item, in bytes
  size_t to_size() const { return to_size_; }
  void Run(const uint8_t* in, uint8_t* out, size_t count) const;

 private:
  Scaling before_, after_;
  ScaleLoop scale_before_ = nullptr, scale_after_ = nullptr;
  CastLoop cast_ = nullptr;
  bool same_ = false;
  size_t from_size_ = 0, to_size_ = 0;
};

}  // namespace penstock
