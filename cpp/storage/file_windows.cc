// Local files on Windows: ReadFile at an offset; pipes and devices continue after the last byte.
#if defined(_WIN32)
#include <windows.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "data/error.h"
#include "runtime/blocking.h"
#include "storage/file.h"
#include "storage/file_path.h"
#include "storage/stop_check.h"

namespace penstock {
namespace {

// An Error with the errno that corresponds to the last Windows error: Python picks its exception by
// errno.
Error LastError(const std::string& path, std::string message) {
  auto code = static_cast<int>(GetLastError());
  std::error_condition same = std::system_category().default_error_condition(code);
  bool known = same.category() == std::generic_category();
  if (!known) message += Format(" (Windows error {})", int64_t{code});
  return Error::FromErrno(known ? same.value() : EIO, path, std::move(message));
}

std::wstring WidePath(const std::string& utf8) {
  auto size = static_cast<int>(utf8.size());
  int count = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8.data(), size, nullptr, 0);
  std::wstring wide(static_cast<size_t>(count), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, utf8.data(), size, wide.data(), count);
  return wide;
}

class LocalFile final : public InputFile {
 public:
  LocalFile(std::string path, HANDLE handle, const CancelToken* cancel)
      : path_(std::move(path)),
        handle_(handle),
        regular_(GetFileType(handle) == FILE_TYPE_DISK),
        stop_(cancel) {}
  ~LocalFile() override { CloseHandle(handle_); }

  size_t Read(int64_t offset, void* data, size_t size) override {
    stop_.Look();
    if (!regular_ && offset != position_) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{} is a pipe or a device, which can only be read from its beginning on; to "
                  "continue from a saved state, or to start again, copy it to a file first",
                  path_);
    }
    OVERLAPPED place{};
    place.Offset = static_cast<DWORD>(offset);
    place.OffsetHigh = static_cast<DWORD>(offset >> 32);
    DWORD got = 0;
    auto wanted = static_cast<DWORD>(std::min(size, kMostAtOnce));
    if (!ReadFile(handle_, data, wanted, &got, regular_ ? &place : nullptr)) {
      DWORD error = GetLastError();
      if (error == ERROR_HANDLE_EOF || error == ERROR_BROKEN_PIPE) return 0;
      throw LastError(path_, Format("cannot read at byte {}", offset));
    }
    if (!regular_) position_ += got;
    return got;
  }
  int64_t size() override {
    LARGE_INTEGER size;
    return regular_ && GetFileSizeEx(handle_, &size) ? size.QuadPart : -1;
  }
  std::string version() override {
    FILETIME changed;
    if (!regular_ || !GetFileTime(handle_, nullptr, nullptr, &changed)) return "";
    return Format("{}", uint64_t{changed.dwHighDateTime} << 32 | changed.dwLowDateTime);
  }

 private:
  static constexpr size_t kMostAtOnce = size_t{1} << 30;

  std::string path_;
  HANDLE handle_;
  const bool regular_;
  int64_t position_ = 0;  // of a pipe
  StopCheck stop_;
};

}  // namespace

size_t MostKeptOpen() { return 256; }

std::unique_ptr<InputFile> OpenLocalFile(const std::string& path, const Reading& reading) {
  LeaveForeignLock();
  RequireWhole(path);
  std::wstring wide = WidePath(path);
  DWORD attributes = GetFileAttributesW(wide.c_str());
  if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY)) {
    throw Error::FromErrno(EISDIR, path, "cannot read (a file was expected)");
  }
  // As on other systems, a file may be renamed or removed while it is read.
  constexpr DWORD kShare = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  HANDLE handle = CreateFileW(
      wide.c_str(), GENERIC_READ, kShare, nullptr, OPEN_EXISTING,
      reading.throughout ? FILE_FLAG_SEQUENTIAL_SCAN : FILE_FLAG_RANDOM_ACCESS, nullptr);
  if (handle == INVALID_HANDLE_VALUE) throw LastError(path, "cannot open");
  return std::make_unique<LocalFile>(path, handle, reading.cancel);
}

std::unique_ptr<InputFile> OpenPlainLocalFile(const std::string& path) {
  LeaveForeignLock();
  RequireWhole(path);
  DWORD attributes = GetFileAttributesW(WidePath(path).c_str());
  constexpr DWORD kOther =
      FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT | FILE_ATTRIBUTE_DEVICE;
  if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & kOther)) ThrowNotPlain(path);
  auto file = OpenLocalFile(path, {});
  if (file->size() < 0) ThrowNotPlain(path);
  return file;
}

}  // namespace penstock
#endif
