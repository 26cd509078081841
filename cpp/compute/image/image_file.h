// Image files: their kind, by their first bytes, and the maximum size of an image.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

// About 13,000 x 13,000: TensorFlow's limit for three channels, and Pillow's. Larger sizes come
// from corrupt headers, or from files crafted to exhaust memory.
constexpr int64_t kMaxPixels = (int64_t{1} << 29) / 3;

enum class FileKind : uint8_t { kOther, kJpeg, kPng, kGif, kBmp, kWebp };

FileKind KindOf(std::string_view contents);
// "a GIF file", by the first bytes.
std::string DescribeFile(std::string_view contents);
// "decode_png: contents must be a PNG, got ..."
[[noreturn]] void ThrowNoSuchFile(const char* op, const char* wanted, std::string_view contents);
// Throws a DataError if an image has more pixels.
void CheckPixels(const char* op, int64_t height, int64_t width, int64_t max_pixels);

}  // namespace penstock
