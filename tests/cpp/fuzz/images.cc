// Image decoders, for whole images and for regions.
#include <algorithm>
#include <cstring>
#include <filesystem>

#include "compute/image/jpeg_decoder.h"
#include "compute/image/jpeg_header.h"
#include "compute/image/region.h"
#include "compute/op_registry.h"
#include "fuzz.h"

namespace penstock::fuzz {
namespace {

constexpr int64_t kMostPixels = 1 << 20;

std::vector<std::string> Images(const std::string& tests, std::vector<std::string> endings) {
  std::vector<std::string> paths, images;
  for (const auto& entry : std::filesystem::directory_iterator(tests + "/ops/images")) {
    std::string ending = entry.path().extension().string();
    if (std::ranges::find(endings, ending) != endings.end()) paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  for (const std::string& path : paths) images.push_back(ReadFile(path));
  return images;
}

Region RegionWithin(const Region& whole, Random& random) {
  Region region{};
  region.y = static_cast<int64_t>(random.Below(static_cast<size_t>(whole.height)));
  region.x = static_cast<int64_t>(random.Below(static_cast<size_t>(whole.width)));
  region.height =
      1 + static_cast<int64_t>(random.Below(static_cast<size_t>(whole.height - region.y)));
  region.width =
      1 + static_cast<int64_t>(random.Below(static_cast<size_t>(whole.width - region.x)));
  return region;
}

// Compares a decoder's whole output with a region of it, decoded strip by strip.
void Decode(const Op& op, const std::string& input, Random& random) {
  std::vector<Tensor> inputs{Tensor::String(TypeCode::kBytes, input)};
  std::vector<Tensor> whole = op.Call(inputs, {});
  const Shape& shape = whole[0].shape();
  Require(shape.rank() == 3 && shape[0] * shape[1] <= kMostPixels, "an image within the limit");
  const Region region = RegionWithin({0, 0, shape[0], shape[1]}, random);
  DType dtype = whole[0].dtype();
  Tensor part = Tensor::Make(dtype, {region.height, region.width, shape[2]});
  const Unmade unmade = op.regions()->Open(inputs, {});
  Require(unmade.spec == LeafSpec{dtype, shape}, "what is said of an image before it is made");
  std::unique_ptr<Rows> rows = unmade.begin(region);
  for (int64_t y = 0; y < region.height;) {
    const auto left = static_cast<size_t>(region.height - y);
    Tensor strip = part.Rows(y, 1 + static_cast<int64_t>(random.Below(left)));
    rows->Next(strip);
    y += strip.shape()[0];
  }
  size_t row = static_cast<size_t>(region.width * shape[2]) * dtype.itemsize;
  for (int64_t y = 0; y < region.height; ++y) {
    const uint8_t* from =
        whole[0].data() +
        static_cast<size_t>(((region.y + y) * shape[1] + region.x) * shape[2]) * dtype.itemsize;
    Require(!std::memcmp(part.data() + static_cast<size_t>(y) * row, from, row),
            "a region has the pixels of the whole");
  }
}

Args Jpeg(Random& random) {
  constexpr int64_t kChannels[] = {0, 3};  // those that CMYK supports too
  Args args("image.decode_jpeg");
  args.Set("channels", kChannels[random.Below(2)]);
  args.Set("ratio", int64_t{1} << random.Below(4));
  args.Set("fancy_upscaling", random.OneIn(2));
  args.Set("try_recover_truncated", random.OneIn(2));
  args.Set("acceptable_fraction", 0.5 * static_cast<double>(random.Below(3)));
  args.Set("dct_method", std::string(random.OneIn(2) ? "INTEGER_FAST" : ""));
  args.Set("max_pixels", kMostPixels);
  return args;
}

// A region at a lower resolution, as the resize after it requests it, must have the pixels of the
// whole image at that resolution.
void DecodeReduced(Args args, const std::string& input, Random& random) {
  const std::vector<Tensor> inputs{Tensor::String(TypeCode::kBytes, input)};
  args.Set("ratio", std::string("auto"));
  const std::unique_ptr<const Op> op = MakeOp("image.decode_jpeg", args);
  const Unmade unmade = op->regions()->Open(inputs, {});
  const Shape& shape = unmade.spec.shape;
  Require(op->regions()->reduces() && unmade.reduce, "an image of any resolution");
  const Region region = RegionWithin({0, 0, shape[0], shape[1]}, random);
  const int64_t ratio = int64_t{2} << random.Below(3);
  Reduced reduced = unmade.reduce(region, ratio);
  Tensor part = Tensor::Make(reduced.spec.dtype, reduced.spec.shape);
  reduced.rows->Next(part);

  args.Set("ratio", ratio);
  const Tensor whole = MakeOp("image.decode_jpeg", args)->Call(inputs, {})[0];
  const Region touched{region.y / ratio, region.x / ratio, part.shape()[0], part.shape()[1]};
  Tensor wanted = Tensor::Make(part.dtype(), part.shape());
  CopyRegion(whole, touched, wanted, 0, 0);
  Require(!std::memcmp(part.data(), wanted.data(), part.nbytes()), "pixels of that resolution");

  const Box& box = reduced.box;
  const Shape made{1 + static_cast<int64_t>(random.Below(20)), 1, shape[2]};
  Args method("image.resize");
  method.Set("method", std::string(random.OneIn(2) ? "bilinear" : "area"));
  method.Set("preserve_aspect_ratio", false);
  method.Set("antialias", random.OneIn(2));
  Tensor resized = Tensor::Make(DType::Of(TypeCode::kFloat32), made);
  const std::unique_ptr<const Op> resize = MakeOp("image.resize", method);
  resize->resize()->FromBox(part, box, made, {0, 0, made[0], made[1]})->Next(resized);
  for (int64_t i = 0; i < resized.elements(); ++i) {
    const float value = reinterpret_cast<const float*>(resized.data())[i];
    Require(value > -1 && value < 256, "a mean of pixels");
  }
}

Args WithType(const char* op, const char* dtype, int64_t channels) {
  Args args(op);
  args.Set("channels", channels);
  args.Set("dtype", std::string(dtype));
  args.Set("max_pixels", kMostPixels);
  args.Set("ratio", std::string("auto"));
  return args;
}

void RunJpeg(const std::string& input, Random& random) {
  Args shape("image.extract_jpeg_shape");
  shape.Set("output_type", std::string("int32"));
  MakeOp("image.is_jpeg", Args("image.is_jpeg"))
      ->Call({Tensor::String(TypeCode::kBytes, input)}, {});
  MakeOp("image.extract_jpeg_shape", shape)->Call({Tensor::String(TypeCode::kBytes, input)}, {});
  Args args = Jpeg(random);
  if (random.OneIn(2)) return DecodeReduced(std::move(args), input, random);
  Decode(*MakeOp("image.decode_jpeg", args), input, random);
}

#if defined(PENSTOCK_HAS_JPEG)
JpegOptions OptionsOf(const JpegHeader& header, Random& random) {
  JpegOptions options;
  options.channels = header.components == 4 || random.OneIn(2) ? 3 : 1;
  options.ratio = 1 << random.Below(4);
  options.fancy_upscaling = random.OneIn(2);
  options.accurate_idct = random.OneIn(2);
  options.recover_truncated = random.OneIn(2);
  options.acceptable_fraction = 0.5 * static_cast<double>(random.Below(3));
  return options;
}

struct JpegRun {
  JpegOptions options;
  Region whole, region;
  std::vector<int64_t> strips;  // rows of each
};

JpegRun RunOf(const JpegHeader& header, Random& random) {
  JpegRun run;
  run.options = OptionsOf(header, random);
  const int64_t ratio = run.options.ratio;
  run.whole = {0, 0, (header.height + ratio - 1) / ratio, (header.width + ratio - 1) / ratio};
  run.region = random.OneIn(3) ? run.whole : RegionWithin(run.whole, random);
  for (int64_t left = run.region.height; left > 0; left -= run.strips.back()) {
    run.strips.push_back(1 + static_cast<int64_t>(random.Below(static_cast<size_t>(left))));
  }
  return run;
}

// The pixels of a region, or the message about the damage, as one string.
std::string Outcome(const std::string& input, const JpegRun& run) {
  Tensor image = Tensor::Make(DType::Of(TypeCode::kUInt8),
                              {run.region.height, run.region.width, run.options.channels});
  std::string outcome;
  try {
    std::unique_ptr<Rows> rows = DecodeJpeg(input, run.options, run.whole, run.region);
    int64_t y = 0;
    for (int64_t height : run.strips) {
      Tensor strip = image.Rows(y, height);
      rows->Next(strip);
      y += height;
      outcome.append(reinterpret_cast<const char*>(strip.data()), strip.nbytes());
    }
  } catch (const Error& error) {
    outcome += error.what();
  }
  return outcome;
}

bool IsSmallJpeg(const JpegHeader& header) {
  const bool colours = header.components == 1 || header.components == 3 || header.components == 4;
  return colours && header.height * header.width <= kMostPixels;
}

// With our decoder of Huffman codes and with that of libjpeg.
void RunJpegPixels(const std::string& input, Random& random) {
  const JpegHeader header = ReadJpegHeader("decode_jpeg", input);
  if (!IsSmallJpeg(header)) return;
  JpegRun run = RunOf(header, random);
  run.options.ours = JpegOurs::kNever;
  const std::string theirs = Outcome(input, run);
  run.options.ours = JpegOurs::kAlways;
  Require(Outcome(input, run) == theirs, "pixels and errors of libjpeg");
}
#endif

void RunPng(const std::string& input, Random& random) {
  auto channels = static_cast<int64_t>(random.Below(5));
  const char* dtype = random.OneIn(2) ? "uint8" : "uint16";
  Decode(*MakeOp("image.decode_png", WithType("image.decode_png", dtype, channels)), input, random);
}

void RunImage(const std::string& input, Random& random) {
  constexpr int64_t kChannels[] = {0, 1, 3, 4};
  constexpr const char* kTypes[] = {"uint8", "uint16", "float32", "float16", "int32"};
  Args args = WithType("image.decode_image", kTypes[random.Below(5)], kChannels[random.Below(4)]);
  args.Set("expand_animations", random.OneIn(2));
  Decode(*MakeOp("image.decode_image", args), input, random);
}

uint32_t Crc32(const char* data, size_t size) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < size; ++i) {
    crc ^= static_cast<uint8_t>(data[i]);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

// Corrects the checksums. https://www.w3.org/TR/png-3/#5Chunk-layout: length, type, data, CRC-32 of
// type and data.
void RepairPng(std::string& input) {
  auto* bytes = reinterpret_cast<unsigned char*>(input.data());
  for (size_t at = 8; at + 12 <= input.size();) {
    size_t length = size_t{bytes[at]} << 24 | size_t{bytes[at + 1]} << 16 |
                    size_t{bytes[at + 2]} << 8 | bytes[at + 3];
    if (length > input.size() - at - 12) return;
    uint32_t crc = Crc32(input.data() + at + 4, length + 4);
    for (size_t i = 0; i < 4; ++i) {
      bytes[at + 8 + length + i] = static_cast<unsigned char>(crc >> (24 - 8 * i));
    }
    at += length + 12;
  }
}

#if defined(PENSTOCK_HAS_JPEG)
const RegisterTarget jpeg({"decode_jpeg",
                           [](const std::string& tests) { return Images(tests, {".jpg"}); },
                           RunJpeg});
const RegisterTarget jpeg_entropy({"jpeg_entropy",
                                   [](const std::string& tests) { return Images(tests, {".jpg"}); },
                                   RunJpegPixels});
#endif
#if defined(PENSTOCK_HAS_PNG)
const RegisterTarget png({"decode_png",
                          [](const std::string& tests) { return Images(tests, {".png"}); }, RunPng,
                          RepairPng});
#endif
#if defined(PENSTOCK_HAS_JPEG) && defined(PENSTOCK_HAS_PNG)
const RegisterTarget image(
    {"decode_image", [](const std::string& tests) { return Images(tests, {".jpg", ".png"}); },
     RunImage, RepairPng});
#endif

}  // namespace
}  // namespace penstock::fuzz
