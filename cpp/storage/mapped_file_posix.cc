// Mapping files where there is POSIX.
#include "runtime/platform.h"
#if defined(PENSTOCK_POSIX)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "data/error.h"
#include "runtime/blocking.h"
#include "storage/file_path.h"
#include "storage/mapped_file.h"

namespace penstock {

BufferRef MapLocalFile(const std::string& path) {
  LeaveForeignLock();
  RequireWhole(path);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw Error::FromErrno(errno, path, "cannot open");
  struct stat info{};
  const int known = fstat(fd, &info);
  if (known != 0 || !S_ISREG(info.st_mode)) {
    const int code = known != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    close(fd);
    throw Error::FromErrno(code, path, "cannot read (a regular file was expected)");
  }
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) {
    close(fd);
    return Buffer::Allocate(0);
  }
  // Writable, so that an array whose last owner writes to it gets pages of its own; without a
  // reservation, because hardly any will be.
  int flags = MAP_PRIVATE;
#if defined(MAP_NORESERVE)
  flags |= MAP_NORESERVE;
#endif
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, fd, 0);
  const int code = errno;
  close(fd);
  if (data == MAP_FAILED) throw Error::FromErrno(code, path, "cannot map into memory");
  return Buffer::Borrow(
      data, size, [](void*, void* mapped, size_t bytes) { munmap(mapped, bytes); }, nullptr);
}

}  // namespace penstock
#endif
