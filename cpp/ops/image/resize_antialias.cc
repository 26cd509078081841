// Resampling with a triangle filter, separable: rows first, on contiguous memory, then columns.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/cast_items.h"
#include "ops/image/resize.h"

namespace penstock {
namespace {

// For each output position the inputs [first, first + count) with their weights, which sum to 1.
struct Filter {
  struct Span {
    int64_t first, count;
    size_t weights;  // where they begin
  };
  std::vector<Span> spans;
  std::vector<float> weights;
};

// ComputeSpans of TensorFlow's scale_and_translate_op.cc, without translation.
Filter TriangleFilter(int64_t from, int64_t to) {
  Filter filter;
  float scale = static_cast<float>(to) / static_cast<float>(from);
  float inverse = 1.0f / scale;
  float radius = std::max(inverse, 1.0f);  // of the triangle, input pixels
  for (int64_t i = 0; i < to; ++i) {
    float center = (static_cast<float>(i) + 0.5f) * inverse;
    auto first = static_cast<int64_t>(std::ceil(center - radius - 0.5f));
    auto last = static_cast<int64_t>(std::floor(center + radius - 0.5f));
    first = std::clamp<int64_t>(first, 0, from - 1);
    last = std::clamp<int64_t>(last, 0, from - 1);
    size_t begin = filter.weights.size();
    float sum = 0;
    for (int64_t source = first; source <= last; ++source) {
      float distance = std::abs(static_cast<float>(source) + 0.5f - center);
      float weight = std::max(0.0f, 1.0f - distance * (1.0f / radius));
      filter.weights.push_back(weight);
      sum += weight;
    }
    for (size_t k = begin; k < filter.weights.size(); ++k) filter.weights[k] *= 1.0f / sum;
    filter.spans.push_back({first, last - first + 1, begin});
  }
  return filter;
}

void Accumulate(const float* __restrict in, float weight, int64_t count, float* __restrict sum) {
  for (int64_t i = 0; i < count; ++i) sum[i] += in[i] * weight;
}

template <int kChannels>
void FilterColumns(const float* __restrict in, const Filter& filter, int64_t channels,
                   float* __restrict out) {
  if (kChannels) channels = kChannels;
  for (const Filter::Span& span : filter.spans) {
    const float* weights = filter.weights.data() + span.weights;
    const float* pixel = in + span.first * channels;
    if constexpr (kChannels == 3 || kChannels == 4) {
      Float4 sum = {};
      for (int64_t k = 0; k < span.count; ++k, pixel += kChannels) {
        sum += *reinterpret_cast<const Float4*>(pixel) * weights[k];
      }
      *reinterpret_cast<Float4*>(out) = sum;
    } else {
      for (int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (int64_t k = 0; k < span.count; ++k) sum += pixel[k * channels + c] * weights[k];
        out[c] = sum;
      }
    }
    out += channels;
  }
}

auto ColumnFilter(int64_t channels) {
  switch (channels) {
    case 1:
      return FilterColumns<1>;
    case 3:
      return FilterColumns<3>;
    case 4:
      return FilterColumns<4>;
    default:
      return FilterColumns<0>;
  }
}

}  // namespace

void ResizeAntialiased(const uint8_t* in, TypeCode type, const ImageBatch& from,
                       const ImageBatch& to, float* out) {
  const int64_t in_row = from.width * from.channels, out_row = to.width * to.channels;
  const int64_t in_bytes = in_row * DType::Of(type).itemsize;
  Filter rows = TriangleFilter(from.height, to.height);
  Filter columns = TriangleFilter(from.width, to.width);
  std::vector<float> scratch(static_cast<size_t>(2 * in_row + out_row + 3 * kSpareFloats));
  float* source = scratch.data();
  float* sum = source + in_row + kSpareFloats;
  float* result = sum + in_row + kSpareFloats;  // `out` has no spare floats
  CastLoop convert = FindCast(type, TypeCode::kFloat32);
  auto filter_columns = ColumnFilter(from.channels);

  for (int64_t n = 0; n < to.count; ++n, in += from.height * in_bytes) {
    for (const Filter::Span& span : rows.spans) {
      std::fill(sum, sum + in_row, 0.0f);
      for (int64_t k = 0; k < span.count; ++k) {
        convert(in + (span.first + k) * in_bytes, source, static_cast<size_t>(in_row));
        Accumulate(source, rows.weights[span.weights + k], in_row, sum);
      }
      filter_columns(sum, columns, from.channels, result);
      out = std::copy(result, result + out_row, out);
    }
  }
}

}  // namespace penstock
