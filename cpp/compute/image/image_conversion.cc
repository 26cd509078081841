// The scaling loops, and the selection for a pair of types.
#include "compute/image/image_conversion.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "compute/image/pixel_loops.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

// The maximum number of items per step: their buffers stay in the L1 cache.
constexpr size_t kPixels = 1024;

using Scaling = ImageConversion::Scaling;
using ScaleLoop = ImageConversion::ScaleLoop;

template <typename T>
void ShiftDown(const void* in, void* out, size_t count, const Scaling& scaling) {
  auto* from = static_cast<const T*>(in);
  auto* to = static_cast<T*>(out);
  T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  if (scaling.clip) {
    if (std::cmp_greater(scaling.low, low)) low = static_cast<T>(scaling.low);
    if (std::cmp_less(scaling.high, high)) high = static_cast<T>(scaling.high);
  }
  for (size_t i = 0; i < count; ++i) {
    to[i] = std::clamp(static_cast<T>(from[i] >> scaling.shift), low, high);
  }
}

template <typename T>
void ShiftUp(const void* in, void* out, size_t count, const Scaling& scaling) {
  auto* from = static_cast<const T*>(in);
  auto* to = static_cast<T*>(out);
  for (size_t i = 0; i < count; ++i) {
    to[i] = static_cast<T>(static_cast<uint64_t>(from[i]) << scaling.shift);
  }
}

// The largest float of `digits` significant bits that does not exceed `high`, a power of two minus
// one.
uint64_t LimitBelow(uint64_t high, int digits) {
  int drop = std::max(0, static_cast<int>(std::bit_width(high)) - digits);
  return high >> drop << drop;
}

template <typename Float>
void MultiplyAndClip(const Float* from, Float* to, size_t count, Float factor, Float low,
                     Float high) {
  for (size_t i = 0; i < count; ++i) {
    Float value = from[i] * factor;
    value = value < low ? low : value;
    to[i] = value > high ? high : value;
  }
}

template <>
void MultiplyAndClip(const float* from, float* to, size_t count, float factor, float low,
                     float high) {
  PixelLoopsOf(ChosenInstructionSet()).multiply_and_clip(from, factor, low, high, count, to);
}

template <typename Float>
void Multiply(const void* in, void* out, size_t count, const Scaling& scaling) {
  Float low = -std::numeric_limits<Float>::infinity(), high = -low;
  if (scaling.clip) {
    low = static_cast<Float>(scaling.low);
    high = static_cast<Float>(LimitBelow(scaling.high, std::numeric_limits<Float>::digits));
  }
  MultiplyAndClip(static_cast<const Float*>(in), static_cast<Float*>(out), count,
                  static_cast<Float>(scaling.factor), low, high);
}

// In float32: a product of halves is exact there, and limits that are halves survive rounding.
template <>
void Multiply<Half>(const void* in, void* out, size_t count, const Scaling& scaling) {
  constexpr float kLargest = 65504;
  constexpr int kDigits = 11;
  float low = -std::numeric_limits<float>::infinity(), high = -low;
  if (scaling.clip) {
    low = std::max(static_cast<float>(scaling.low), -kLargest);
    high = std::min(static_cast<float>(LimitBelow(scaling.high, kDigits)), kLargest);
  }
  float wide[kPixels];
  FindCast(TypeCode::kFloat16, TypeCode::kFloat32)(in, wide, count);
  MultiplyAndClip(wide, wide, count, FloatOf(HalfOf(scaling.factor)), low, high);
  FindCast(TypeCode::kFloat32, TypeCode::kFloat16)(wide, out, count);
}

enum class Direction : uint8_t { kDown, kUp };

ScaleLoop FindScaling(TypeCode type, Direction step) {
  ScaleLoop loop = nullptr;
  VisitReal(type, [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, Half> || std::is_floating_point_v<T>) {
      loop = Multiply<T>;
    } else if constexpr (!std::is_same_v<T, bool>) {
      loop = step == Direction::kDown ? ShiftDown<T> : ShiftUp<T>;
    }
  });
  return loop;
}

struct TypeRange {
  int64_t low = 0;
  uint64_t high = 0;
};

TypeRange RangeOf(TypeCode type) {
  TypeRange range;
  VisitReal(type, [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      range = {static_cast<int64_t>(std::numeric_limits<T>::min()),
               static_cast<uint64_t>(std::numeric_limits<T>::max())};
    }
  });
  return range;
}

}  // namespace

ImageConversion ImageConversion::Cast(TypeCode from, TypeCode to) {
  ImageConversion plan;
  plan.cast_ = FindCast(from, to);
  plan.same_ = from == to;
  plan.from_size_ = DType::Of(from).itemsize;
  plan.to_size_ = DType::Of(to).itemsize;
  return plan;
}

ImageConversion ImageConversion::Scaled(TypeCode from, TypeCode to, bool saturate) {
  ImageConversion plan = Cast(from, to);
  if (from == to || (IsFloating(from) && IsFloating(to))) return plan;
  TypeRange in = RangeOf(from), out = RangeOf(to);
  plan.before_.clip = saturate && IsInteger(to);
  plan.before_.low = out.low;
  plan.before_.high = out.high;
  if (IsFloating(from)) {
    plan.before_.factor = static_cast<double>(out.high) + 0.5;
    plan.scale_before_ = FindScaling(from, Direction::kDown);
  } else if (IsFloating(to)) {
    plan.after_.factor = 1.0 / static_cast<double>(in.high);
    plan.scale_after_ = FindScaling(to, Direction::kUp);
  } else {
    int shift =
        static_cast<int>(std::bit_width(out.high)) - static_cast<int>(std::bit_width(in.high));
    plan.before_.shift = std::max(-shift, 0);
    plan.after_.shift = std::max(shift, 0);
    if (shift < 0 || saturate) plan.scale_before_ = FindScaling(from, Direction::kDown);
    if (shift > 0) plan.scale_after_ = FindScaling(to, Direction::kUp);
  }
  return plan;
}

void ImageConversion::Run(const uint8_t* in, uint8_t* out, size_t count) const {
  alignas(64) uint8_t scaled[kPixels * sizeof(long double)];
  for (size_t done = 0; done < count; done += kPixels) {
    size_t n = std::min(kPixels, count - done);
    const uint8_t* from = in + done * from_size_;
    uint8_t* to = out + done * to_size_;
    if (scale_before_) {
      scale_before_(from, scaled, n, before_);
      from = scaled;
    }
    cast_(from, to, n);
    if (scale_after_) scale_after_(to, to, n, after_);
  }
}

}  // namespace penstock
