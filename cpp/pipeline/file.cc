// Local files by pread.
#include "pipeline/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "element/error.h"
#include "runtime/blocking.h"

namespace penstock {
namespace {

class LocalFile final : public InputFile {
 public:
  LocalFile(std::string path, int fd, int64_t size)
      : path_(std::move(path)), fd_(fd), size_(size) {}
  ~LocalFile() override { close(fd_); }

  size_t Read(int64_t offset, void* data, size_t size) override {
    for (;;) {
      ssize_t got = pread(fd_, data, size, offset);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR) {
        throw Error::FromErrno(errno, path_, Format("cannot read at byte {}", offset));
      }
    }
  }
  int64_t size() override { return size_; }

 private:
  std::string path_;
  int fd_;
  int64_t size_;
};

class LocalOpener final : public Opener {
 public:
  std::unique_ptr<InputFile> Open(const std::string& path) const override {
    LeaveForeignLock();
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw Error::FromErrno(errno, path, "cannot open");
    struct stat info;
    bool known = fstat(fd, &info) == 0;
    if (known && S_ISDIR(info.st_mode)) {
      close(fd);
      throw Error::FromErrno(EISDIR, path, "cannot read (a file was expected)");
    }
#if defined(POSIX_FADV_SEQUENTIAL)
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
    int64_t size = known && S_ISREG(info.st_mode) ? info.st_size : -1;
    return std::make_unique<LocalFile>(path, fd, size);
  }
};

}  // namespace

const Opener& LocalFiles() {
  static const Opener& opener = *new LocalOpener;
  return opener;
}

std::string ReadWholeFile(const std::string& path) {
  auto file = LocalFiles().Open(path);
  std::string content;
  constexpr size_t kUnknownStep = size_t{1} << 20;
  int64_t expected = file->size();
  size_t filled = 0;
  // One byte more than expected: the read that returns 0 is then the last one needed.
  content.resize(expected >= 0 ? static_cast<size_t>(expected) + 1 : kUnknownStep);
  for (;;) {
    if (filled == content.size()) content.resize(content.size() + kUnknownStep);
    size_t got =
        file->Read(static_cast<int64_t>(filled), content.data() + filled, content.size() - filled);
    if (got == 0) break;
    filled += got;
  }
  content.resize(filled);
  return content;
}

}  // namespace penstock
