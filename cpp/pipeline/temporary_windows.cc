// Temporaries on Windows: a file that is open without sharing cannot be removed by others, which is
// the lock; a folder is locked by such a file in it.
#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#include <share.h>
#include <sys/stat.h>
#include <windows.h>

#include <atomic>
#include <cerrno>
#include <filesystem>

#include "element/error.h"
#include "pipeline/temporary.h"
#include "runtime/blocking.h"
#include "runtime/clock.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = ".tmp-";
constexpr const char* kLockName = ".lock";

fs::path PathOf(const std::string& utf8) {
  return fs::path(std::u8string(utf8.begin(), utf8.end()));
}

Error FileError(const std::error_code& code, const std::string& path, std::string message) {
  return Error::FromErrno(code.default_error_condition().value(), path, std::move(message));
}

int Open(const fs::path& path, int flags) {
  int file = -1;
  _wsopen_s(&file, path.c_str(), flags | _O_BINARY | _O_NOINHERIT, _SH_DENYRW,
            _S_IREAD | _S_IWRITE);
  return file;
}

// Removing fails where somebody has a file open.
void RemoveAbandoned(const fs::path& target) {
  std::error_code ignored;
  fs::path folder = target.parent_path().empty() ? fs::path(".") : target.parent_path();
  std::wstring begin = target.filename().wstring() + PathOf(kMark).wstring();
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    if (at->path().filename().wstring().compare(0, begin.size(), begin) != 0) continue;
    std::error_code held;
    if (at->is_directory(held)) {
      fs::path lock = at->path() / kLockName;
      if (fs::exists(lock, held) && !fs::remove(lock, held)) continue;
    }
    fs::remove_all(at->path(), held);
  }
}

}  // namespace

Temporary::Temporary(std::string target, Kind kind) : target_(std::move(target)), kind_(kind) {
  LeaveForeignLock();
  while (target_.size() > 1 && (target_.back() == '/' || target_.back() == '\\')) {
    target_.pop_back();
  }
  fs::path parent = PathOf(target_).parent_path();
  std::error_code failed;
  if (!parent.empty()) fs::create_directories(parent, failed);
  if (failed) throw FileError(failed, target_, "cannot make the folder");
  RemoveAbandoned(PathOf(target_));
  for (int tries = 0; !Make(); ++tries) {
    if (tries == 100) throw Error::FromErrno(EBUSY, path_, "cannot lock the temporary " + path_);
  }
}

bool Temporary::Make() {
  static std::atomic<uint64_t> count{0};
  path_ = target_ + kMark + std::to_string(GetCurrentProcessId()) + "-" + std::to_string(NowNs()) +
          "-" + std::to_string(count.fetch_add(1, std::memory_order_relaxed));
  fs::path made = PathOf(path_);
  if (kind_ == Kind::kFile) return true;  // locked by its OutputFile
  std::error_code failed;
  if (!fs::create_directory(made, failed)) {
    if (failed) throw FileError(failed, path_, "cannot create the folder");
    return false;
  }
  lock_ = Open(made / kLockName, _O_RDWR | _O_CREAT | _O_EXCL);
  return lock_ >= 0;
}

void Temporary::Remove() {
  std::error_code ignored;
  fs::remove_all(PathOf(path_), ignored);
}

Temporary::~Temporary() {
  if (lock_ >= 0) _close(lock_);
  if (!committed_) Remove();
}

void Temporary::Commit() {
  LeaveForeignLock();
  if (lock_ >= 0) {
    _close(lock_);
    lock_ = -1;
    std::error_code ignored;
    fs::remove(PathOf(path_) / kLockName, ignored);
  }
  std::error_code failed;
  fs::path former;
  if (kind_ == Kind::kFolder && fs::exists(PathOf(target_))) {
    former = PathOf(target_ + ".old" + path_.substr(target_.size()));
    fs::rename(PathOf(target_), former, failed);
    if (failed) throw FileError(failed, target_, "cannot replace " + target_);
  }
  fs::rename(PathOf(path_), PathOf(target_), failed);
  if (failed) {
    std::error_code ignored;
    if (!former.empty()) fs::rename(former, PathOf(target_), ignored);
    throw FileError(failed, target_, "cannot rename " + path_ + " to its place");
  }
  committed_ = true;
  std::error_code ignored;
  if (!former.empty()) fs::remove_all(former, ignored);
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  LeaveForeignLock();
  file_ = Open(PathOf(path_), _O_WRONLY | _O_CREAT | _O_TRUNC);
  if (file_ < 0) throw Error::FromErrno(errno, path_, "cannot create");
}

OutputFile::~OutputFile() {
  if (file_ >= 0) _close(file_);
}

void OutputFile::Write(const void* data, size_t size) {
  LeaveForeignLock();
  constexpr size_t kMostAtOnce = size_t{1} << 30;
  auto* from = static_cast<const char*>(data);
  while (size > 0) {
    int put = _write(file_, from, static_cast<unsigned>(size < kMostAtOnce ? size : kMostAtOnce));
    if (put < 0) throw Error::FromErrno(errno, path_, Format("cannot write at byte {}", size_));
    from += put;
    size -= static_cast<size_t>(put);
    size_ += put;
  }
}

void OutputFile::Close() {
  LeaveForeignLock();
  int synced = _commit(file_);
  int code = errno;
  int closed = _close(file_);
  if (synced == 0) code = errno;
  file_ = -1;
  if (synced != 0 || closed != 0) throw Error::FromErrno(code, path_, "cannot write to the disk");
}

}  // namespace penstock
#endif
