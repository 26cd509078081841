// The compression formats of record files: their names, and how to recognise them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

enum class Compression : uint8_t { kNone, kGzip, kZlib, kZstd };

// "", "GZIP", "ZLIB" or "ZSTD".
std::string_view NameOf(Compression compression);

// The inverse. Throws a ValueError that begins with `owner` for other names, and for formats whose
// library was not built in.
Compression CompressionOf(std::string_view name, std::string_view owner);

// The compression that the first bytes of a file indicate.
struct CompressionSeen {
  std::string_view name;  // "" if they match no compressed format
  bool readable = false;  // CompressionOf accepts `name`
  bool certain = false;   // no text begins with these bytes
  size_t need = 0;        // number of bytes needed to decide; 0 if these were enough

  // "it begins as GZIP does: try compression_type=\"GZIP\"".
  std::string Advice() const;
};
CompressionSeen LookAt(const uint8_t* data, size_t size);

// The compression that a file name implies: kGzip for ".gz" and ".tgz".
Compression CompressionByName(std::string_view path);
// Whether a file name has the suffix of that format: ".gz" for "GZIP".
bool IsNamedSo(std::string_view path, const CompressionSeen& seen);

}  // namespace penstock
