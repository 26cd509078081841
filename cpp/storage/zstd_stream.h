// Compressing a stream of bytes step by step, by zstd.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace penstock {

class ZstdCompressor {
 public:
  enum class Until : uint8_t {
    kMore,   // more will come: what is held back is left there
    kFlush,  // all that was given can be decompressed
    kEnd,    // and the frame is complete; what comes then begins another one
  };

  // `level`: as zstd means it, 1 (fast) to 22 (small); 0 for its default.
  explicit ZstdCompressor(int level);
  ~ZstdCompressor();
  // What is to be written for these bytes, as far as it is decided.
  std::string Run(std::string_view bytes, Until until);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace penstock
