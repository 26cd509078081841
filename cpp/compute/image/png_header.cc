// Walks the chunks of a PNG up to its data (ISO/IEC 15948).
#include "compute/image/png_header.h"

#include "compute/image/image_file.h"
#include "data/error.h"

namespace penstock {
namespace {

constexpr std::string_view kSignature("\x89PNG\r\n\x1A\n", 8);
constexpr size_t kHeaderSize = 13;  // of the chunk IHDR
constexpr size_t kChunkFrame = 12;  // length, name and checksum of a chunk

uint64_t Word(std::string_view contents, size_t at) {
  uint64_t word = 0;
  for (size_t i = 0; i < 4; ++i) word = word << 8 | static_cast<uint8_t>(contents[at + i]);
  return word;
}

// Whether the palette has transparent colours.
bool HasTransparency(std::string_view contents) {
  size_t at = kSignature.size();
  while (at + kChunkFrame <= contents.size()) {
    std::string_view name = contents.substr(at + 4, 4);
    if (name == "tRNS") return true;
    if (name == "IDAT") return false;
    at += kChunkFrame + Word(contents, at);
  }
  return false;
}

// Samples per pixel by colour type; 0 for invalid types.
int SamplesOf(int color_type) {
  constexpr int kSamples[] = {1, 0, 3, 1, 2, 0, 4};
  return color_type < 7 ? kSamples[color_type] : 0;
}

}  // namespace

bool StartsAsPng(std::string_view contents) { return contents.starts_with(kSignature); }

PngHeader ReadPngHeader(const char* op, std::string_view contents) {
  if (!StartsAsPng(contents)) ThrowNoSuchFile(op, "a PNG", contents);
  size_t at = kSignature.size() + 8;
  if (contents.size() < at + kHeaderSize) {
    throw Error(ErrorKind::kData, "{}: contents are truncated: {} bytes end within the header",
                std::string_view(op), contents.size());
  }
  auto byte = [&](size_t i) { return static_cast<int>(static_cast<uint8_t>(contents[at + i])); };
  int color_type = byte(9);
  constexpr int kPalette = 3;
  PngHeader header{static_cast<int64_t>(Word(contents, at + 4)),
                   static_cast<int64_t>(Word(contents, at)),
                   byte(8),
                   SamplesOf(color_type),
                   color_type == kPalette,
                   byte(12) != 0};
  constexpr int64_t kLargest = 0x7FFFFFFF;
  bool right = contents.substr(at - 4, 4) == "IHDR" && header.channels > 0 && header.height > 0 &&
               header.width > 0 && header.height <= kLargest && header.width <= kLargest &&
               header.bit_depth > 0 && header.bit_depth <= 16;
  if (!right) {
    throw Error(
        ErrorKind::kData,
        "{}: contents are corrupt: the header says {} rows, {} columns, {} bits, colour type "
        "{}",
        std::string_view(op), header.height, header.width, header.bit_depth, color_type);
  }
  if (header.has_palette) header.channels = HasTransparency(contents) ? 4 : 3;
  return header;
}

}  // namespace penstock
