// Compression of byte strings that are completely in memory.
#pragma once

#include <string>

#include "data/buffer.h"

namespace penstock {

// "1.5.4"; "" if the build lacks zstd.
std::string ZstdVersion();

enum class Codec : uint8_t { kNone, kZlib, kZstd };

// Parses the names that users write, in any case: "", "NONE", "ZLIB", "GZIP" (both mean zlib),
// "ZSTD", and "AUTO" for the best codec of this build. Throws a ValueError for others.
Codec CodecOfName(const char* stage, const std::string& name);

BufferRef Compress(Codec codec, const BufferRef& bytes);
// Null if they are not `size` bytes compressed by this codec. Throws if the build lacks it.
BufferRef Decompress(Codec codec, const BufferRef& bytes, size_t size);

}  // namespace penstock
