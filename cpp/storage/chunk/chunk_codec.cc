// zlib and zstd, where the build has them.
#include "storage/chunk/chunk_codec.h"

#include <algorithm>
#include <cctype>

#include "data/error.h"
#if defined(PENSTOCK_HAS_ZLIB)
#include <zlib.h>
#endif
#if defined(PENSTOCK_HAS_ZSTD)
#include <zstd.h>
#endif

namespace penstock {
namespace {

#if defined(PENSTOCK_HAS_ZLIB)
constexpr bool kHasZlib = true;
#else
constexpr bool kHasZlib = false;
#endif
#if defined(PENSTOCK_HAS_ZSTD)
constexpr bool kHasZstd = true;
#else
constexpr bool kHasZstd = false;
#endif

const char* NameOf(Codec codec) { return codec == Codec::kZstd ? "zstd" : "zlib"; }

[[noreturn]] void ThrowMissing(Codec codec) {
  throw Error(ErrorKind::kRuntime,
              "this penstock was built without {}; install a wheel, or build with its headers",
              std::string_view(NameOf(codec)));
}

[[maybe_unused]] BufferRef Shortened(const BufferRef& bytes, size_t size) {
  BufferRef exact = Buffer::Allocate(size);
  std::copy_n(bytes->data(), size, exact->data());
  return exact;
}

}  // namespace

std::string ZstdVersion() {
#if defined(PENSTOCK_HAS_ZSTD)
  return ZSTD_versionString();
#else
  return "";
#endif
}

Codec CodecOfName(const char* stage, const std::string& name) {
  std::string upper = name;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  Codec codec = Codec::kNone;
  if (upper == "ZLIB" || upper == "GZIP")
    codec = Codec::kZlib;
  else if (upper == "ZSTD")
    codec = Codec::kZstd;
  else if (upper == "AUTO")
    codec = kHasZstd ? Codec::kZstd : kHasZlib ? Codec::kZlib : Codec::kNone;
  else if (!upper.empty() && upper != "NONE")
    throw Error(ErrorKind::kInvalidArgument,
                "{}: compression must be None, 'ZLIB', 'GZIP', 'ZSTD' or 'AUTO', got '{}'",
                std::string_view(stage), name);
  bool missing = (codec == Codec::kZlib && !kHasZlib) || (codec == Codec::kZstd && !kHasZstd);
  if (missing) {
    throw Error(ErrorKind::kInvalidArgument,
                "{}: compression '{}' was expected to be built in, but this penstock lacks {}; use "
                "None, or a build with it",
                std::string_view(stage), name, std::string_view(NameOf(codec)));
  }
  return codec;
}

BufferRef Compress([[maybe_unused]] Codec codec, const BufferRef& bytes) {
#if defined(PENSTOCK_HAS_ZLIB)
  if (codec == Codec::kZlib) {
    uLongf size = compressBound(static_cast<uLong>(bytes->size()));
    BufferRef out = Buffer::Allocate(size);
    if (compress2(out->data(), &size, bytes->data(), static_cast<uLong>(bytes->size()),
                  Z_BEST_SPEED) != Z_OK) {
      throw std::bad_alloc();
    }
    return Shortened(out, size);
  }
#endif
#if defined(PENSTOCK_HAS_ZSTD)
  if (codec == Codec::kZstd) {
    BufferRef out = Buffer::Allocate(ZSTD_compressBound(bytes->size()));
    size_t size = ZSTD_compress(out->data(), out->size(), bytes->data(), bytes->size(), 1);
    if (ZSTD_isError(size)) throw std::bad_alloc();
    return Shortened(out, size);
  }
#endif
  return bytes;
}

BufferRef Decompress(Codec codec, const BufferRef& bytes, size_t size) {
  if (codec == Codec::kNone) return bytes->size() == size ? bytes : BufferRef();
  if (codec == Codec::kZlib && !kHasZlib) ThrowMissing(codec);
  if (codec == Codec::kZstd && !kHasZstd) ThrowMissing(codec);
  // Neither method expands a byte to more than this: a larger size is damage, and must not be
  // allocated.
  constexpr size_t kMostExpansion = size_t{1} << 16;
  if (size / kMostExpansion > bytes->size()) return {};
  BufferRef out = Buffer::Allocate(size);
#if defined(PENSTOCK_HAS_ZLIB)
  if (codec == Codec::kZlib) {
    uLongf got = static_cast<uLongf>(size);
    int status = uncompress(out->data(), &got, bytes->data(), static_cast<uLong>(bytes->size()));
    return status == Z_OK && got == size ? out : BufferRef();
  }
#endif
#if defined(PENSTOCK_HAS_ZSTD)
  if (codec == Codec::kZstd) {
    size_t got = ZSTD_decompress(out->data(), size, bytes->data(), bytes->size());
    return got == size ? out : BufferRef();
  }
#endif
  return {};
}

}  // namespace penstock
