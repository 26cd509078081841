// Brightness and contrast: shifts or spreads values.
#include <array>
#include <vector>

#include "compute/image/adjustments.h"
#include "compute/image/image_floats.h"

namespace penstock {
namespace {

// Sums of every kLanes-th item: the compiler keeps them in registers, and their order does not
// depend on the CPU.
constexpr size_t kLanes = 12;  // a multiple of 1, 2, 3, 4 and 6 channels
static_assert(kRunFloats % kLanes == 0);

void AddToLanes(const float* from, size_t count, std::array<double, kLanes>& sums) {
  std::array<double, kLanes> local = sums;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) local[lane] += double{from[i + lane]};
  }
  for (size_t lane = 0; i < count; ++i, ++lane) local[lane] += double{from[i]};
  sums = local;
}

// The means of the channels of an image of `count` items.
std::vector<float> MeansOf(const ImageConversion& load, const uint8_t* in, size_t count,
                           size_t channels) {
  std::vector<double> sums(channels);
  if (kLanes % channels == 0) {
    std::array<double, kLanes> lanes{};
    VisitFloats(load, in, count,
                [&](const float* from, size_t n, size_t) { AddToLanes(from, n, lanes); });
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane % channels] += lanes[lane];
  } else {
    VisitFloats(load, in, count, [&](const float* from, size_t n, size_t first) {
      for (size_t i = 0; i < n; ++i) sums[(first + i) % channels] += double{from[i]};
    });
  }
  std::vector<float> means(channels);
  auto pixels = static_cast<double>(count / channels);
  for (size_t i = 0; i < channels; ++i) means[i] = static_cast<float>(sums[i] / pixels);
  return means;
}

}  // namespace

void AddBrightness(const Tensor& image, float delta, Tensor& out) {
  const PixelLoops& loops = PixelLoopsOf(ChosenInstructionSet());
  ChangeUnitFloats(image, out, [&](const float* from, float* to, size_t count, size_t) {
    loops.add(from, delta, count, to);
  });
}

void ScaleContrast(const Tensor& image, float factor, Tensor& out) {
  const PixelLoops& loops = PixelLoopsOf(ChosenInstructionSet());
  const Shape& shape = image.shape();
  TypeCode type = image.dtype().code;
  ImageConversion load = ImageConversion::Scaled(type, TypeCode::kFloat32, false);
  ImageConversion store = ImageConversion::Scaled(TypeCode::kFloat32, type, true);
  auto channels = static_cast<size_t>(shape[shape.rank() - 1]);
  auto size = static_cast<size_t>(shape[shape.rank() - 2] * shape[shape.rank() - 3]) * channels;
  auto count = static_cast<size_t>(image.elements());
  for (size_t done = 0; done < count; done += size) {
    const uint8_t* in = image.data() + done * load.from_size();
    const ChannelRow means(MeansOf(load, in, size, channels));
    ChangeFloats(load, in, store, out.mutable_data() + done * store.to_size(), size,
                 [&](const float* from, float* to, size_t n, size_t first) {
                   loops.spread(from, means.From(first), factor, n, to);
                 });
  }
}

}  // namespace penstock
