// Streams of zstd, in both directions.
#include "storage/zstd_stream.h"

#include <algorithm>
#include <new>

#include "data/error.h"
#include "storage/decompressor.h"

#if defined(PENSTOCK_HAS_ZSTD)
#include <zstd.h>
#include <zstd_errors.h>
#endif

namespace penstock {

#if defined(PENSTOCK_HAS_ZSTD)

namespace {

// A frame says how large a window it needs, and memory for it is had at once: 128 MiB, what the
// zstd tool takes without being asked.
constexpr int kWindowLog = 27;

class ZstdDecompressor final : public Decompressor {
 public:
  ZstdDecompressor() : context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kWindowLog);
  }

  Progress Run(const uint8_t* input, size_t size, uint8_t* output, size_t room) override {
    if (!MayBegin(input, size)) return {0, 0, false, "it is no frame of zstd 0.8 or newer"};
    ZSTD_inBuffer in{input, size, 0};
    ZSTD_outBuffer out{output, room, 0};
    // No more than the next block at a time: of a call that fails libzstd does not say what it has
    // written, so what comes before the damage would depend on the sizes of the pieces.
    size_t status;
    do {
      in.size = std::min(size, in.pos + wanted_);
      status = ZSTD_decompressStream(context_.get(), &out, &in);
      if (!ZSTD_isError(status)) wanted_ = status == 0 ? kFirstBytes : status;
    } while (!ZSTD_isError(status) && status != 0 && in.pos < size && out.pos < room);
    frame_read_ = status == 0 ? 0 : std::min(frame_read_ + in.pos, kMagicSize);
    Progress progress{in.pos, out.pos, status == 0, {}};
    if (ZSTD_isError(status)) {
      ZSTD_ErrorCode code = ZSTD_getErrorCode(status);
      if (code == ZSTD_error_memory_allocation) throw std::bad_alloc();
      progress.problem = code == ZSTD_error_frameParameter_windowTooLarge
                             ? Format(
                                   "its window is larger than {} MiB, the most that is taken; "
                                   "compress it without --long and --ultra",
                                   1 << (kWindowLog - 20))
                             : ZSTD_getErrorName(status);
    }
    return progress;
  }
  void Reset() override {
    ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
    frame_read_ = 0;
    wanted_ = kFirstBytes;
  }

 private:
  static constexpr size_t kMagicSize = 4;
  static constexpr size_t kFirstBytes = 5;  // of a frame, before it says how much more it wants

  // The next bytes continue the four that a frame begins with, as RFC 8878 has them (3.1.1
  // and 3.1.2): those of data, or of a frame to skip. libzstd may also have been built to read
  // frames from before 0.8; that code is not maintained, and what it gives depends on the sizes of
  // the pieces it is fed with.
  bool MayBegin(const uint8_t* input, size_t size) {
    constexpr uint8_t kData[] = {0x28, 0xb5, 0x2f, 0xfd}, kSkip[] = {0x50, 0x2a, 0x4d, 0x18};
    for (size_t i = frame_read_; i < kMagicSize && i - frame_read_ < size; ++i) {
      uint8_t byte = input[i - frame_read_];
      if (i == 0) skips_ = byte != kData[0];
      uint8_t expected = skips_ ? kSkip[i] : kData[i];
      if ((i == 0 && skips_ ? byte & 0xf0 : byte) != expected) return false;
    }
    return true;
  }

  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_;
  size_t frame_read_ = 0;        // bytes of this frame, at most kMagicSize
  bool skips_ = false;           // the frame began as one to skip
  size_t wanted_ = kFirstBytes;  // bytes up to the end of the next block
};

void Check(size_t status) {
  if (!ZSTD_isError(status)) return;
  if (ZSTD_getErrorCode(status) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  throw Error(ErrorKind::kInvalidArgument, "zstd: {}", std::string_view(ZSTD_getErrorName(status)));
}

}  // namespace

std::unique_ptr<Decompressor> NewZstdDecompressor() { return std::make_unique<ZstdDecompressor>(); }

struct ZstdCompressor::Context {
  Context() : stream(ZSTD_createCCtx()) {
    if (!stream) throw std::bad_alloc();
  }
  ~Context() { ZSTD_freeCCtx(stream); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  ZSTD_CCtx* stream;
};

ZstdCompressor::ZstdCompressor(int level) : context_(std::make_unique<Context>()) {
  Check(ZSTD_CCtx_setParameter(context_->stream, ZSTD_c_compressionLevel, level));
  Check(ZSTD_CCtx_setParameter(context_->stream, ZSTD_c_checksumFlag, 1));
}

std::string ZstdCompressor::Run(std::string_view bytes, Until until) {
  ZSTD_EndDirective directive = until == Until::kMore    ? ZSTD_e_continue
                                : until == Until::kFlush ? ZSTD_e_flush
                                                         : ZSTD_e_end;
  std::string packed;
  size_t size = 0;
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (;;) {
    packed.resize(size + ZSTD_CStreamOutSize());
    ZSTD_outBuffer out{packed.data() + size, packed.size() - size, 0};
    size_t left = ZSTD_compressStream2(context_->stream, &out, &in, directive);
    Check(left);
    size += out.pos;
    if (until == Until::kMore ? in.pos == in.size : left == 0) break;
  }
  packed.resize(size);
  return packed;
}

#else

std::unique_ptr<Decompressor> NewZstdDecompressor() {
  throw Error(ErrorKind::kRuntime, "zstd is not built in");  // CompressionOf has refused it
}

// None is ever made: CompressionOf refuses before.
struct ZstdCompressor::Context {};
ZstdCompressor::ZstdCompressor(int) { throw Error(ErrorKind::kRuntime, "zstd is not built in"); }
std::string ZstdCompressor::Run(std::string_view, Until) { return ""; }

#endif

ZstdCompressor::~ZstdCompressor() = default;

}  // namespace penstock
