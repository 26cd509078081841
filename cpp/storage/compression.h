// The ways in which a file of records may be compressed: their names, and how such a file begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

enum class Compression : uint8_t { kNone, kGzip, kZlib, kZstd };

// "", "GZIP", "ZLIB" or "ZSTD".
std::string_view NameOf(Compression compression);

// The other way round. A ValueError for other names, and for those whose library was not built in,
// that begins with `owner`.
Compression CompressionOf(std::string_view name, std::string_view owner);

// What the first bytes of a file say about how it is compressed.
struct CompressionSeen {
  std::string_view name;  // "" when they are those of no compressed file
  bool readable = false;  // `name` is one for CompressionOf
  bool certain = false;   // no text begins so
  size_t need = 0;        // bytes that are needed to know; 0 when these were enough

  // "it begins as GZIP does: try compression_type=\"GZIP\"".
  std::string Advice() const;
};
CompressionSeen LookAt(const uint8_t* data, size_t size);

// How a file of this name is compressed: kGzip for ".gz" and ".tgz".
Compression CompressionByName(std::string_view path);
// Whether a file name ends as those of such files do: ".gz" for "GZIP".
bool IsNamedSo(std::string_view path, const CompressionSeen& seen);

}  // namespace penstock
