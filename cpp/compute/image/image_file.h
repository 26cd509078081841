// Files of images: what they are by their first bytes, and how large an image may be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

// Some 13,000 x 13,000: the limit of TensorFlow for three channels, and of Pillow. Larger sizes
// come from corrupt headers, or from files that are made to fill the memory.
constexpr int64_t kMaxPixels = (int64_t{1} << 29) / 3;

enum class FileKind : uint8_t { kOther, kJpeg, kPng, kGif, kBmp, kWebp };

FileKind KindOf(std::string_view contents);
// "a GIF file", by the first bytes.
std::string DescribeFile(std::string_view contents);
// "decode_png: contents must be a PNG, got ..."
[[noreturn]] void ThrowNoSuchFile(const char* op, const char* wanted, std::string_view contents);
// Throws a DataError when an image has more pixels.
void CheckPixels(const char* op, int64_t height, int64_t width, int64_t max_pixels);

}  // namespace penstock
