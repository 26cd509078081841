// Images from one number type to another: scaled as convert_image_dtype does, or just cast.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/cast_items.h"

namespace penstock {

// Scale, cast, scale: the middle step is always there, the others where TensorFlow has them.
class ImageConversion {
 public:
  // One of the steps around the cast: integers are shifted, floats multiplied; then clipped.
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
  // The values as they are; both types are real.
  static ImageConversion Cast(TypeCode from, TypeCode to);

  // Nothing changes.
  bool same() const { return same_; }
  size_t from_size() const { return from_size_; }  // of an item, bytes
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
