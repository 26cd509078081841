// gzip and zlib streams.
#include <algorithm>
#include <limits>
#include <new>

#include "data/error.h"
#include "storage/decompressor.h"

#if defined(PENSTOCK_HAS_ZLIB)
#include <zlib.h>
#endif

namespace penstock {

std::unique_ptr<Decompressor> NewDecompressor(Compression format) {
  return format == Compression::kZstd ? NewZstdDecompressor() : NewZlibDecompressor(format);
}

#if defined(PENSTOCK_HAS_ZLIB)

namespace {

int WindowBits(Compression format) { return format == Compression::kGzip ? 15 + 16 : 15; }

// The largest size that fits zlib's counters.
uInt Piece(size_t size) {
  return static_cast<uInt>(std::min<size_t>(size, std::numeric_limits<uInt>::max()));
}

class ZlibDecompressor final : public Decompressor {
 public:
  explicit ZlibDecompressor(int window_bits) {
    if (inflateInit2(&stream_, window_bits) != Z_OK) throw std::bad_alloc();
  }
  ~ZlibDecompressor() override { inflateEnd(&stream_); }

  Progress Run(const uint8_t* input, size_t size, uint8_t* output, size_t room) override {
    Progress progress;
    uInt given = Piece(size);
    uInt space = Piece(room);
    stream_.next_in = const_cast<Bytef*>(input);
    stream_.avail_in = given;
    stream_.next_out = output;
    stream_.avail_out = space;
    int status = inflate(&stream_, Z_NO_FLUSH);
    progress.read = given - stream_.avail_in;
    progress.written = space - stream_.avail_out;
    progress.ended = status == Z_STREAM_END;
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status == Z_NEED_DICT) {
      progress.problem = "it needs a dictionary";
    } else if (status == Z_DATA_ERROR || status == Z_STREAM_ERROR) {
      progress.problem = stream_.msg ? stream_.msg : "invalid data";
    }
    return progress;
  }
  void Reset() override { inflateReset(&stream_); }

 private:
  z_stream stream_{};
};

}  // namespace

std::string ZlibVersion() { return std::string("zlib ") + zlibVersion(); }

std::unique_ptr<Decompressor> NewZlibDecompressor(Compression format) {
  return std::make_unique<ZlibDecompressor>(WindowBits(format));
}

std::unique_ptr<Decompressor> NewInflater() {
  constexpr int kRaw = -15;
  return std::make_unique<ZlibDecompressor>(kRaw);
}

#else

std::string ZlibVersion() { return ""; }

std::unique_ptr<Decompressor> NewZlibDecompressor(Compression) {
  throw Error(ErrorKind::kRuntime, "zlib is not built in");  // CompressionOf has already thrown
}

std::unique_ptr<Decompressor> NewInflater() {
  CompressionOf("ZLIB", "NumpyDataset");  // throws, naming what is missing
  return nullptr;
}

#endif

}  // namespace penstock
