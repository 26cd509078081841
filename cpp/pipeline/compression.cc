// Streams of zlib, or the advice how to get it.
#include "pipeline/compression.h"

#include <algorithm>
#include <limits>
#include <new>

#include "element/error.h"

#if defined(PENSTOCK_HAS_ZLIB)
#include <zlib.h>
#endif

namespace penstock {

Compression CompressionOf(std::string_view name, std::string_view owner) {
  if (name.empty()) return Compression::kNone;
  if (name != "GZIP" && name != "ZLIB") {
    throw Error(ErrorKind::kInvalidArgument,
                "{}: compression_type must be None, \"\", \"GZIP\" or \"ZLIB\", got \"{}\"", owner,
                name);
  }
  if (ZlibVersion().empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                "{}: compression_type \"{}\" needs zlib, and penstock was built without it; "
                "`python -m penstock doctor` tells how to get it",
                owner, name);
  }
  return name == "GZIP" ? Compression::kGzip : Compression::kZlib;
}

std::string_view CompressionSeen(const uint8_t* data, size_t size) {
  if (size >= 3 && data[0] == 0x1f && data[1] == 0x8b && data[2] == 8) return "GZIP";
  if (size >= 2 && data[0] == 0x78 && (data[0] * 256 + data[1]) % 31 == 0) return "ZLIB";
  return "";
}

#if defined(PENSTOCK_HAS_ZLIB)

struct ZlibStream : z_stream {
  ZlibStream() : z_stream() {}
};

namespace {

int WindowBits(Compression format) { return format == Compression::kGzip ? 15 + 16 : 15; }

// What fits zlib's counters.
uInt Piece(size_t size) {
  return static_cast<uInt>(std::min<size_t>(size, std::numeric_limits<uInt>::max()));
}

}  // namespace

std::string ZlibVersion() { return std::string("zlib ") + zlibVersion(); }

Inflater::Inflater(Compression format) : stream_(std::make_unique<ZlibStream>()) {
  if (inflateInit2(stream_.get(), WindowBits(format)) != Z_OK) throw std::bad_alloc();
}

Inflater::~Inflater() { inflateEnd(stream_.get()); }

Inflater::Progress Inflater::Run(const uint8_t* input, size_t size, uint8_t* output, size_t room) {
  Progress progress;
  uInt given = Piece(size);
  uInt space = Piece(room);
  stream_->next_in = const_cast<Bytef*>(input);
  stream_->avail_in = given;
  stream_->next_out = output;
  stream_->avail_out = space;
  int status = inflate(stream_.get(), Z_NO_FLUSH);
  progress.read = given - stream_->avail_in;
  progress.written = space - stream_->avail_out;
  progress.ended = status == Z_STREAM_END;
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status == Z_NEED_DICT) {
    progress.problem = "it needs a dictionary";
  } else if (status == Z_DATA_ERROR || status == Z_STREAM_ERROR) {
    progress.problem = stream_->msg ? stream_->msg : "invalid data";
  }
  return progress;
}

void Inflater::Reset() { inflateReset(stream_.get()); }

#else

// None is ever made: CompressionOf refuses.
struct ZlibStream {};
std::string ZlibVersion() { return ""; }
Inflater::Inflater(Compression) {}
Inflater::~Inflater() = default;
Inflater::Progress Inflater::Run(const uint8_t*, size_t, uint8_t*, size_t) {
  return {.problem = "zlib is not built in"};
}
void Inflater::Reset() {}

#endif

}  // namespace penstock
