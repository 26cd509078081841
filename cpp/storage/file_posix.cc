// Files of this machine where there is POSIX: by pread, pipes and devices by read.
#include "runtime/platform.h"
#if defined(PENSTOCK_POSIX)
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "data/error.h"
#include "runtime/blocking.h"
#include "runtime/clock.h"
#include "storage/file.h"
#include "storage/file_path.h"
#include "storage/stop_check.h"

namespace penstock {
namespace {

class LocalFile final : public InputFile {
 public:
  LocalFile(std::string path, int fd, bool regular, const CancelToken* cancel)
      : path_(std::move(path)), fd_(fd), regular_(regular), stop_(cancel) {}
  ~LocalFile() override { close(fd_); }

  size_t Read(int64_t offset, void* data, size_t size) override {
    stop_.Look();
    if (!regular_ && offset != position_) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{} is a pipe or a device, which can only be read from its beginning on; to "
                  "continue from a saved state, or to start again, copy it to a file first",
                  path_);
    }
    for (;;) {
      ssize_t got = regular_ ? pread(fd_, data, size, offset) : read(fd_, data, size);
      if (got > 0 || (got == 0 && (regular_ || HadWriter()))) {
        if (!regular_) position_ += got;
        return static_cast<size_t>(got);
      }
      if (got == 0 || errno == EAGAIN || errno == EWOULDBLOCK) {
        WaitForBytes();
      } else if (errno == EINTR) {
        stop_.LookForSignals();
      } else {
        throw Error::FromErrno(errno, path_, Format("cannot read at byte {}", offset));
      }
    }
  }
  void ReadReady(std::span<ByteRange> ranges) override {
    if (!regular_) return;
    for (ByteRange& range : ranges) AskFor(range);
  }
  int64_t size() override {
    struct stat info;
    return regular_ && fstat(fd_, &info) == 0 ? info.st_size : -1;
  }
  std::string version() override {
    struct stat info;
    if (!regular_ || fstat(fd_, &info) != 0) return "";
#if defined(__APPLE__)
    const timespec& changed = info.st_mtimespec;
#else
    const timespec& changed = info.st_mtim;
#endif
    constexpr int64_t kNsInSecond = 1'000'000'000;
    return Format("{}", int64_t{changed.tv_sec} * kNsInSecond + changed.tv_nsec);
  }

 private:
  // Reads what the system has in memory, or has it brought there.
  void AskFor(ByteRange& range) {
#if defined(RWF_NOWAIT)
    // relaxed: whichever thread finds it out, another one that has not seen it finds the same
    if (tells_ready_.load(std::memory_order_relaxed)) {
      const iovec to{range.to, range.size};
      ssize_t got = preadv2(fd_, &to, 1, range.offset, RWF_NOWAIT);
      if (got > 0) range.ready = static_cast<size_t>(got);
      if (got >= 0) return;
      if (errno != EAGAIN) tells_ready_.store(false, std::memory_order_relaxed);
    }
#endif
#if defined(POSIX_FADV_WILLNEED)
    posix_fadvise(fd_, range.offset, static_cast<off_t>(range.size), POSIX_FADV_WILLNEED);
#endif
  }
  // Nothing to read is the end of a pipe only when a writer has opened it before.
  bool HadWriter() {
    pollfd waiting{fd_, POLLIN, 0};
    return poll(&waiting, 1, 0) != 0;
  }
  void WaitForBytes() {
    constexpr int kSliceMs = static_cast<int>(internal::kSignalSliceNs / 1'000'000);
    pollfd waiting{fd_, POLLIN, 0};
    while (poll(&waiting, 1, kSliceMs) <= 0) {
      stop_.Look();
      stop_.LookForSignals();
    }
  }

  std::string path_;
  int fd_;
  const bool regular_;
  int64_t position_ = 0;  // of a pipe
#if defined(RWF_NOWAIT)
  std::atomic<bool> tells_ready_{true};  // whether the file system says what it has in memory
#endif
  StopCheck stop_;
};

}  // namespace

size_t MostKeptOpen() {
  constexpr long kMost = 256;
  const long limit = sysconf(_SC_OPEN_MAX);
  return static_cast<size_t>(limit < 0 ? kMost : std::clamp(limit / 4, 1L, kMost));
}

std::unique_ptr<InputFile> OpenLocalFile(const std::string& path, const Reading& reading) {
  LeaveForeignLock();
  RequireWhole(path);
  // Without waiting for the other end of a pipe: that happens where it can be ended.
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw Error::FromErrno(errno, path, "cannot open");
  struct stat info;
  bool known = fstat(fd, &info) == 0;
  if (known && S_ISDIR(info.st_mode)) {
    close(fd);
    throw Error::FromErrno(EISDIR, path, "cannot read (a file was expected)");
  }
#if defined(POSIX_FADV_SEQUENTIAL)
  if (reading.throughout) posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
  bool regular = known && S_ISREG(info.st_mode);
  return std::make_unique<LocalFile>(path, fd, regular, reading.cancel);
}

std::unique_ptr<InputFile> OpenPlainLocalFile(const std::string& path) {
  LeaveForeignLock();
  RequireWhole(path);
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  int code = errno;
  struct stat info;
  if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    return std::make_unique<LocalFile>(path, fd, true, nullptr);
  }
  if (fd >= 0) close(fd);
  if (fd < 0 && code != ELOOP && code != ENXIO) throw Error::FromErrno(code, path, "cannot open");
  ThrowNotPlain(path);
}

}  // namespace penstock
#endif
