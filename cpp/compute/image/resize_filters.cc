// The weights of the resize methods.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compute/image/resize.h"

namespace penstock {
namespace {

// The weight by distance from the center, 0 beyond the radius. Both are in pixels of the input, or
// of the output if that is coarser and the filter is widened.
struct FilterKernel {
  float radius;
  float (*weight)(float distance);
};

float Triangle(float x) { return std::max(0.0f, 1.0f - x); }

// R. Keys, "Cubic convolution interpolation for digital image processing", 1981; a = -1/2.
template <typename T>
T KeysCubic(T x) {
  if (x >= 2) return 0;
  if (x >= 1) return ((T(-0.5) * x + T(2.5)) * x - 4) * x + 2;
  return ((T(1.5) * x - T(2.5)) * x) * x + 1;
}

// D. Mitchell and A. Netravali, "Reconstruction filters in computer graphics", 1988; B = C = 1/3.
float MitchellCubic(float x) {
  if (x >= 2.0f) return 0.0f;
  if (x >= 1.0f) return (((-7.0f / 18.0f) * x + 2.0f) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f;
  return (((7.0f / 6.0f) * x - 2.0f) * x) * x + 8.0f / 9.0f;
}

// In float64, so that the float32 result does not depend on a platform's sine.
template <int kRadius>
float Lanczos(float distance) {
  constexpr double kPi = 3.14159265358979323846;
  const double x = distance;
  if (x > kRadius) return 0.0f;
  if (x <= 1e-3) return 1.0f;
  return static_cast<float>(kRadius * std::sin(kPi * x) * std::sin(kPi * x / kRadius) /
                            (kPi * kPi * x * x));
}

// With a standard deviation of half a pixel.
float Gaussian(float distance) {
  const double x = distance;
  return x >= 1.5 ? 0.0f : static_cast<float>(std::exp(-2 * x * x));
}

// Appends a span whose weights are scaled to sum to 1, unless they cancel out.
void AddSpan(Filter& filter, int64_t first, const std::vector<float>& weights) {
  float sum = 0;
  for (float weight : weights) sum += weight;
  const bool cancels = std::abs(sum) < 1000 * std::numeric_limits<float>::min();
  filter.spans.push_back({first, static_cast<int64_t>(weights.size()), filter.weights.size()});
  for (float weight : weights) {
    filter.weights.push_back(cancels ? weight : weight * (1.0f / sum));
  }
}

// TensorFlow's ScaleAndTranslate.
Filter Sampled(const FilterKernel& kernel, bool antialias, const AxisPart& from, int64_t to) {
  Filter filter;
  const float inverse = 1.0f / (static_cast<float>(to) / from.length);
  const float widening = antialias ? std::max(inverse, 1.0f) : 1.0f;
  const float reach = kernel.radius * widening;  // in pixels of the input
  std::vector<float> weights;
  for (int64_t i = 0; i < to; ++i) {
    const float center = (static_cast<float>(i) + 0.5f) * inverse + from.begin;
    auto first = static_cast<int64_t>(std::ceil(center - reach - 0.5f));
    auto last = static_cast<int64_t>(std::floor(center + reach - 0.5f));
    first = std::clamp<int64_t>(first, 0, from.pixels - 1);
    last = std::clamp<int64_t>(last, 0, from.pixels - 1);
    weights.clear();
    for (int64_t source = first; source <= last; ++source) {
      float distance = static_cast<float>(source) + 0.5f - center;
      weights.push_back(kernel.weight(std::abs(distance * (1.0f / widening))));
    }
    AddSpan(filter, first, weights);
  }
  return filter;
}

// TensorFlow's ResizeBicubic with half-pixel centers: four pixels around a position that is rounded
// to 1/1024; pixels outside the image are ignored.
Filter Bicubic(const AxisPart& from, int64_t to) {
  Filter filter;
  constexpr float kPlaces = 1024;
  const float scale = from.length / static_cast<float>(to);
  std::vector<float> weights;
  for (int64_t i = 0; i < to; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * scale - 0.5f + from.begin;
    const float floor = std::floor(at);
    const float place = std::nearbyint((at - floor) * kPlaces) / kPlaces;
    const auto left = static_cast<int64_t>(floor);
    const float distances[] = {1.0f + place, place, 1.0f - place, 2.0f - place};
    const int64_t first = std::clamp<int64_t>(left - 1, 0, from.pixels - 1);
    weights.clear();
    for (int64_t k = 0; k < 4; ++k) {
      const int64_t source = left - 1 + k;
      if (source < 0 || source >= from.pixels) continue;
      weights.push_back(static_cast<float>(KeysCubic<double>(distances[k])));
    }
    AddSpan(filter, first, weights);
  }
  return filter;
}

// TensorFlow's ResizeArea: each input pixel is weighted by its area within the output pixel.
Filter Area(const AxisPart& from, int64_t to) {
  Filter filter;
  const float scale = from.length / static_cast<float>(to);
  for (int64_t i = 0; i < to; ++i) {
    const float begin = static_cast<float>(i) * scale + from.begin;
    const float end = static_cast<float>(i + 1) * scale + from.begin;
    const auto first = std::min(static_cast<int64_t>(std::floor(begin)), from.pixels - 1);
    const auto last =
        std::max(std::min(static_cast<int64_t>(std::ceil(end)), from.pixels) - 1, first);
    filter.spans.push_back({first, last - first + 1, filter.weights.size()});
    for (int64_t source = first; source <= last; ++source) {
      const auto pixel = static_cast<float>(source);
      float inside = pixel < begin ? pixel + 1.0f - begin : 1.0f;
      if (pixel + 1.0f > end) inside = pixel < begin ? scale : end - pixel;
      filter.weights.push_back(inside / scale);
    }
  }
  return filter;
}

}  // namespace

Filter FilterOf(const std::string& method, bool antialias, const AxisPart& from, int64_t to) {
  auto sampled = [&](FilterKernel kernel) { return Sampled(kernel, antialias, from, to); };
  if (method == "area") return Area(from, to);
  if (method == "bicubic") return antialias ? sampled({2, KeysCubic<float>}) : Bicubic(from, to);
  if (method == "bilinear") return sampled({1, Triangle});
  if (method == "mitchellcubic") return sampled({2, MitchellCubic});
  if (method == "lanczos3") return sampled({3, Lanczos<3>});
  if (method == "lanczos5") return sampled({5, Lanczos<5>});
  if (method == "gaussian") return sampled({1.5f, Gaussian});
  return {};
}

}  // namespace penstock
