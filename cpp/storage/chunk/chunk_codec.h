// Compression of byte strings that are in memory as a whole.
#pragma once

#include <string>

#include "data/buffer.h"

namespace penstock {

// "1.5.4"; "" when the build lacks it.
std::string ZstdVersion();

enum class Codec : uint8_t { kNone, kZlib, kZstd };

// By the names that users write: "", "NONE", "ZLIB", "GZIP" (zlib's method, either way), "ZSTD"
// and, for the best that this build has, "AUTO"; in any case. Throws a ValueError for others.
Codec CodecOfName(const char* stage, const std::string& name);

BufferRef Compress(Codec codec, const BufferRef& bytes);
// Null when they are not `size` bytes compressed by this codec. Throws when the build lacks it.
BufferRef Decompress(Codec codec, const BufferRef& bytes, size_t size);

}  // namespace penstock
