// Recognises files, and limits the size of images.
#include "compute/image/image_file.h"

#include "data/error.h"

namespace penstock {

FileKind KindOf(std::string_view contents) {
  auto starts = [&](std::string_view magic) { return contents.starts_with(magic); };
  if (starts("\xFF\xD8\xFF")) return FileKind::kJpeg;
  if (starts("\x89PNG")) return FileKind::kPng;
  if (starts("GIF8")) return FileKind::kGif;
  if (starts("BM")) return FileKind::kBmp;
  const bool webp = starts("RIFF") && contents.size() >= 12 && contents.substr(8, 4) == "WEBP";
  return webp ? FileKind::kWebp : FileKind::kOther;
}

// Describes a file by its first bytes.
std::string DescribeFile(std::string_view contents) {
  switch (KindOf(contents)) {
    case FileKind::kJpeg:
      return "a JPEG file";
    case FileKind::kPng:
      return "a PNG file";
    case FileKind::kGif:
      return "a GIF file";
    case FileKind::kBmp:
      return "a BMP file";
    case FileKind::kWebp:
      return "a WebP file";
    case FileKind::kOther:
      break;
  }
  if (contents.starts_with('<')) return "text that starts with '<'";
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "bytes that start with";
  for (unsigned char c : contents.substr(0, 4)) {
    text.append(" 0x").append({kDigits[c >> 4], kDigits[c & 15]});
  }
  return text;
}

void ThrowNoSuchFile(const char* op, const char* wanted, std::string_view contents) {
  std::string got = contents.empty() ? "0 bytes" : DescribeFile(contents);
  const std::string_view name = std::string_view(got).substr(0, got.rfind(" file"));
  if (std::string_view(wanted).find(name.substr(name.find(' ') + 1)) != std::string_view::npos) {
    got = "one with a damaged signature (its first 8 bytes)";
  }
  throw Error(ErrorKind::kData, "{}: contents must be {}, got {}", std::string_view(op),
              std::string_view(wanted), got);
}

void CheckPixels(const char* op, int64_t height, int64_t width, int64_t max_pixels) {
  // Sizes in headers have at most 32 bits.
  if (static_cast<double>(height) * static_cast<double>(width) <= static_cast<double>(max_pixels)) {
    return;
  }
  throw Error(
      ErrorKind::kData,
      "{}: contents are corrupt or too large: the header says {} x {} pixels, at most {} are "
      "decoded; max_pixels allows more",
      std::string_view(op), width, height, max_pixels);
}

}  // namespace penstock
