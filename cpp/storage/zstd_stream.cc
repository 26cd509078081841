// Streams of zstd, in both directions.
#include "storage/zstd_stream.h"

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
    ZSTD_inBuffer in{input, size, 0};
    ZSTD_outBuffer out{output, room, 0};
    size_t status = ZSTD_decompressStream(context_.get(), &out, &in);
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
  void Reset() override { ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only); }

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_;
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
