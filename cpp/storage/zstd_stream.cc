// Zstd streams, in both directions.
#include "storage/zstd_stream.h"

#include <algorithm>
#include <new>
#include <string>

#include "data/error.h"
#include "storage/decompressor.h"

#if defined(PENSTOCK_HAS_ZSTD)
#include <zstd.h>
#include <zstd_errors.h>
#endif

namespace penstock {

#if defined(PENSTOCK_HAS_ZSTD)

namespace {

// A frame states the window that it needs, whose memory is allocated immediately. 128 MiB is what
// the zstd tool accepts by default.
constexpr int kWindowLog = 27;

class ZstdDecompressor final : public Decompressor {
 public:
  ZstdDecompressor() : context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kWindowLog);
  }

  Progress Run(const uint8_t* input, size_t size, uint8_t* output, size_t room) override {
    Progress progress{0, 0, false, HeaderProblem(input, size)};
    // Passes only the next block in each call: a failing call does not report how much it has
    // written, so the output before the damage would depend on the sizes of the inputs.
    while (progress.problem.empty()) {
      ZSTD_inBuffer in{input, std::min(size, progress.read + wanted_), progress.read};
      ZSTD_outBuffer out{output, room, progress.written};
      const size_t status = ZSTD_decompressStream(context_.get(), &out, &in);
      if (ZSTD_isError(status)) {
        progress.problem = ProblemOf(status);
        break;
      }
      progress.read = in.pos;
      progress.written = out.pos;
      progress.ended = status == 0;
      wanted_ = progress.ended ? kFirstBytes : status;
      if (progress.ended || progress.read == size || progress.written == room) break;
    }
    header_read_ = progress.ended ? 0 : std::min(header_read_ + progress.read, kLookedAt);
    return progress;
  }
  void Reset() override {
    ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
    header_read_ = 0;
    wanted_ = kFirstBytes;
  }

 private:
  static constexpr size_t kFirstBytes = 5;  // first bytes of a frame to request
  static constexpr size_t kLookedAt = 6;    // checked bytes of its header

  // The problem in the header of a frame (RFC 8878, 3.1.1 and 3.1.2) that continues with these
  // bytes; "" if there is none. libzstd may also have been built with support for frames from
  // before 0.8. That code is unmaintained, its results depend on the sizes of the inputs, and it
  // returns uninitialised memory. So libzstd must never see such a frame, nor a header that it
  // rejects, because it then tries the old formats.
  std::string HeaderProblem(const uint8_t* input, size_t size) {
    constexpr uint8_t kData[] = {0x28, 0xb5, 0x2f, 0xfd}, kSkip[] = {0x50, 0x2a, 0x4d, 0x18};
    for (size_t i = header_read_; i < kLookedAt && i - header_read_ < size; ++i) {
      const uint8_t byte = input[i - header_read_];
      if (i == 0) skips_ = byte != kData[0];
      if (i < sizeof(kData)) {
        const int expected = skips_ ? kSkip[i] : kData[i];
        if ((i == 0 && skips_ ? byte & 0xf0 : byte) != expected)
          return "it is no frame of zstd 0.8 or newer";
      } else if (!skips_ && i == 4) {
        if (byte & 0x08) return "a reserved bit of its header is set";
        has_window_ = !(byte & 0x20);
      } else if (!skips_ && has_window_ && (byte >> 3) + 10 > kWindowLog) {
        return TooLarge();
      }
    }
    return {};
  }

  static std::string TooLarge() {
    return Format(
        "its window is larger than {} MiB, the most that is taken; compress it without --long and "
        "--ultra",
        1 << (kWindowLog - 20));
  }

  static std::string ProblemOf(size_t status) {
    const ZSTD_ErrorCode code = ZSTD_getErrorCode(status);
    if (code == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (code == ZSTD_error_frameParameter_windowTooLarge) return TooLarge();
    return ZSTD_getErrorName(status);
  }

  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_;
  size_t header_read_ = 0;       // bytes of this frame, at most kLookedAt
  bool skips_ = false;           // it is a skippable frame
  bool has_window_ = false;      // its header has a window size
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
  throw Error(ErrorKind::kRuntime, "zstd is not built in");  // CompressionOf has already thrown
}

// Never constructed: CompressionOf throws first.
struct ZstdCompressor::Context {};
ZstdCompressor::ZstdCompressor(int) { throw Error(ErrorKind::kRuntime, "zstd is not built in"); }
std::string ZstdCompressor::Run(std::string_view, Until) { return ""; }

#endif

ZstdCompressor::~ZstdCompressor() = default;

}  // namespace penstock
