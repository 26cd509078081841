// Reading compressed streams of bytes, by zlib when it was built in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace penstock {

enum class Compression : uint8_t { kNone, kGzip, kZlib };

// "", "GZIP" or "ZLIB". A ValueError for other names, and for these when zlib was not built in,
// that begins with `owner`.
Compression CompressionOf(std::string_view name, std::string_view owner);

// How a file begins that is compressed: "GZIP", "ZLIB", or "" for neither.
std::string_view CompressionSeen(const uint8_t* data, size_t size);

// Name and version of the zlib that is loaded; empty when none was built in.
std::string ZlibVersion();

struct ZlibStream;

// Decompresses one stream (one member of a gzip file), piece by piece.
class Inflater {
 public:
  struct Progress {
    size_t read = 0;                // bytes taken from the input
    size_t written = 0;             // bytes put into the output
    bool ended = false;             // the stream is complete and its checksum right
    const char* problem = nullptr;  // why the input is no such stream; for good
  };

  explicit Inflater(Compression format);
  ~Inflater();
  // Takes what it can: until the input is used up, the output full, or the stream at its end.
  Progress Run(const uint8_t* input, size_t size, uint8_t* output, size_t room);
  // For another stream.
  void Reset();

 private:
  std::unique_ptr<ZlibStream> stream_;
};

}  // namespace penstock
