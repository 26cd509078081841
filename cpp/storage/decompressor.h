// Incremental decompression with zlib and zstd, where they were built in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/compression.h"

namespace penstock {

// Name and version of the loaded zlib; empty if none was built in.
std::string ZlibVersion();

// Decompresses one stream: a member of a gzip file, or a frame of a zstd file.
class Decompressor {
 public:
  struct Progress {
    size_t read = 0;      // bytes consumed from the input
    size_t written = 0;   // bytes written to the output; if that is full, more may be buffered
    bool ended = false;   // the stream is complete and its checksum is correct
    std::string problem;  // why the input is not a valid stream; permanent
  };

  virtual ~Decompressor() = default;
  // Processes input until it is used up, the output is full, or the stream has ended.
  virtual Progress Run(const uint8_t* input, size_t size, uint8_t* output, size_t room) = 0;
  // Prepares for another stream.
  virtual void Reset() = 0;
};

// Accepts the results of CompressionOf, except kNone.
std::unique_ptr<Decompressor> NewDecompressor(Compression format);

// For raw deflate data, as in zip files. Raises ValueError if zlib is not built in.
std::unique_ptr<Decompressor> NewInflater();

// Each is defined in the file of its library.
std::unique_ptr<Decompressor> NewZlibDecompressor(Compression format);
std::unique_ptr<Decompressor> NewZstdDecompressor();

}  // namespace penstock
