// Local files on POSIX systems: pread for regular files, read for pipes and devices.
#include "runtime/platform.h"
#if defined(PENSTOCK_POSIX)
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "data/error.h"
#include "runtime/blocking.h"
#include "runtime/clock.h"
#include "runtime/guarded_copy.h"
#include "storage/file.h"
#include "storage/file_path.h"
#include "storage/stop_check.h"

namespace penstock {
namespace {

// Copies from the system's page cache without a system call, which takes a fifth of the time for a
// short record.
class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile() {
    if (begin_) munmap(begin_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  void Make(int fd, int64_t size) {
    if (size <= 0 || !CanCopyGuarded()) return;
    void* begin = mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_SHARED, fd, 0);
    if (begin == MAP_FAILED) return;
    begin_ = static_cast<uint8_t*>(begin);
    size_ = static_cast<size_t>(size);
  }
  // Copies ranges. Skips ranges past EOF and long ones. After a page turned out to be on disk, it
  // skips the remaining ranges too, because page faults would wait for them sequentially.
  void Copy(std::span<ByteRange> ranges) {
    size_t done = 0;
    // relaxed: a hint
    while (begin_ && done < ranges.size() && unsure_.load(std::memory_order_relaxed) == 0) {
      constexpr size_t kTogether = 16;
      std::array<CopiedBytes, kTogether> copies;
      size_t count = 0;
      const std::span<ByteRange> some =
          ranges.subspan(done).first(std::min(kTogether, ranges.size() - done));
      for (const ByteRange& range : some) {
        if (Has(range)) copies[count++] = {range.to, begin_ + range.offset, range.size};
      }
      constexpr int64_t kFromDiskNs = 100'000;  // longer than any copy of short ranges from memory
      const MonoTime start = NowNs();
      if (!GuardedCopy({copies.data(), count})) break;
      if (NowNs() - start > kFromDiskNs) Found(false);
      for (ByteRange& range : some) {
        if (Has(range)) range.ready = range.size;
      }
      done += some.size();
    }
  }
  // Reports whether bytes that were not copied here were in the page cache.
  void Found(bool ready) {
    const int64_t left = unsure_.load(std::memory_order_relaxed);
    if (!ready) {
      unsure_.store(kUnsure, std::memory_order_relaxed);
    } else if (left > 0) {
      unsure_.store(left - 1, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr int64_t kUnsure = 64;  // number of reads
  bool Has(const ByteRange& range) const {
    constexpr size_t kShort = 64 << 10;
    const auto at = static_cast<size_t>(range.offset);
    return at <= size_ && range.size <= std::min(size_ - at, kShort);
  }

  uint8_t* begin_ = nullptr;
  size_t size_ = 0;
  std::atomic<int64_t> unsure_{0};  // reads that must find their bytes in memory first
};

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
  void Map() override {
    if (regular_) map_.Make(fd_, size());
  }
  void ReadReady(std::span<ByteRange> ranges) override {
    if (!regular_) return;
    map_.Copy(ranges);
    for (ByteRange& range : ranges) {
      if (range.ready < range.size) AskFor(range);
    }
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
  // Reads what is in the page cache, or asks the system to load it.
  void AskFor(ByteRange& range) {
#if defined(RWF_NOWAIT)
    // relaxed: a thread that has not seen the change finds out the same
    if (tells_ready_.load(std::memory_order_relaxed)) {
      const iovec to{range.to, range.size};
      ssize_t got = preadv2(fd_, &to, 1, range.offset, RWF_NOWAIT);
      if (got > 0) range.ready = static_cast<size_t>(got);
      map_.Found(range.ready == range.size);
      if (got >= 0) return;
      if (errno != EAGAIN) tells_ready_.store(false, std::memory_order_relaxed);
    }
#endif
#if defined(POSIX_FADV_WILLNEED)
    posix_fadvise(fd_, range.offset, static_cast<off_t>(range.size), POSIX_FADV_WILLNEED);
#endif
  }
  // An empty read means the end of a pipe only if a writer has opened it before.
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
  MappedFile map_;
#if defined(RWF_NOWAIT)
  std::atomic<bool> tells_ready_{true};  // the file system supports RWF_NOWAIT
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
  // Open without waiting for the other end of a pipe: Read waits instead, where it can be
  // interrupted.
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
