// Decompressing streams of bytes step by step, by zlib and zstd where they were built in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/compression.h"

namespace penstock {

// Name and version of the zlib that is loaded; empty when none was built in.
std::string ZlibVersion();

// Of one stream: a member of a gzip file, a frame of a zstd file.
class Decompressor {
 public:
  struct Progress {
    size_t read = 0;      // bytes taken from the input
    size_t written = 0;   // bytes put into the output; when it is full, more may wait inside
    bool ended = false;   // the stream is complete and its checksum right
    std::string problem;  // why the input is no such stream; for good
  };

  virtual ~Decompressor() = default;
  // Takes what it can: until the input is used up, the output full, or the stream at its end.
  virtual Progress Run(const uint8_t* input, size_t size, uint8_t* output, size_t room) = 0;
  // For another stream.
  virtual void Reset() = 0;
};

// Not for kNone, and only for what CompressionOf has given.
std::unique_ptr<Decompressor> NewDecompressor(Compression format);

// For raw deflate data, as in zip files. Raises ValueError if zlib is not built in.
std::unique_ptr<Decompressor> NewInflater();

// Each in the file of its library.
std::unique_ptr<Decompressor> NewZlibDecompressor(Compression format);
std::unique_ptr<Decompressor> NewZstdDecompressor();

}  // namespace penstock
