// Incremental compression with zstd.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace penstock {

class ZstdCompressor {
 public:
  enum class Until : uint8_t {
    kMore,   // more input will follow; output may be held back
    kFlush,  // all input so far can be decompressed
    kEnd,    // also completes the frame; later input begins another one
  };

  // `level`: as in zstd, from 1 (fast) to 22 (small); 0 for its default.
  explicit ZstdCompressor(int level);
  ~ZstdCompressor();
  // Compresses these bytes, and returns the output that is available.
  std::string Run(std::string_view bytes, Until until);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace penstock
