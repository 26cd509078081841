// Temporaries on Windows: other processes cannot remove a file that is open without sharing, which
// serves as the lock; a folder is locked by such a file inside it.
#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#include <share.h>
#include <sys/stat.h>
#include <windows.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "data/error.h"
#include "runtime/blocking.h"
#include "runtime/clock.h"
#include "storage/file_path.h"
#include "storage/remote.h"
#include "storage/temporary.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 100;  // while others commit and clean up at the same target

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

// Renames to a free name; false if it has been taken meanwhile.
bool MoveToFree(const std::string& path, const std::string& target) {
  if (MoveFileExW(PathOf(path).c_str(), PathOf(target).c_str(), 0)) return true;
  DWORD code = GetLastError();
  if (code == ERROR_ALREADY_EXISTS || code == ERROR_FILE_EXISTS) return false;
  throw FileError({static_cast<int>(code), std::system_category()}, target,
                  "cannot rename " + path + " to " + target);
}

}  // namespace

Temporary::Temporary(std::string stage, const std::string& target, OurKind kind)
    : stage_(std::move(stage)),
      url_(IsRemote(target) ? target : ""),
      target_(LocalTarget(target)),
      kind_(kind) {
  LeaveForeignLock();
  RequireWhole(target_);
  while (target_.size() > 1 && (target_.back() == '/' || target_.back() == '\\')) {
    target_.pop_back();
  }
  if (!url_.empty()) RequireReplaceable(stage_, url_, kind_);
  target_ = WithoutLink(target_);
  fs::path parent = PathOf(target_).parent_path();
  std::error_code failed;
  if (!parent.empty()) fs::create_directories(parent, failed);
  if (failed) throw FileError(failed, target_, "cannot make the folder");
  RequireReplaceable(stage_, target_, kind_);
  RemoveAbandoned(target_);
  for (int tries = 0; !Make(); ++tries) {
    if (tries == kMostTries) {
      throw Error::FromErrno(EBUSY, path_, "cannot lock the temporary " + path_);
    }
  }
}

bool Temporary::Make() {
  static std::atomic<uint64_t> count{0};
  // relaxed: the number only has to be unique.
  char name[64];
  std::snprintf(name, sizeof(name), "%lu-%llx-%llx", GetCurrentProcessId(),
                static_cast<unsigned long long>(NowNs()),
                static_cast<unsigned long long>(count.fetch_add(1, std::memory_order_relaxed)));
  path_ = target_ + kTemporaryMark + name;
  fs::path made = PathOf(path_);
  if (kind_ == OurKind::kFile) return true;  // its OutputFile locks it
  std::error_code failed;
  if (!fs::create_directory(made, failed)) {
    if (failed) throw FileError(failed, path_, "cannot create the folder");
    return false;
  }
  lock_ = Open(made / kLockName, _O_RDWR | _O_CREAT | _O_EXCL);
  return lock_ >= 0;
}

Temporary::~Temporary() {
  if (lock_ >= 0) _close(lock_);
  if (!committed_) RemoveOurs(path_, kind_);
}

void Temporary::Commit() {
  if (!url_.empty()) return Upload();
  LeaveForeignLock();
  Unlock();
  for (int tries = 0; !TryReplace(); ++tries) {
    if (tries == kMostTries) throw Error::FromErrno(EBUSY, target_, "cannot replace " + target_);
  }
  Committed();
}

void Temporary::Committed() { committed_ = true; }

// One attempt; false if another process has changed the target meanwhile.
bool Temporary::TryReplace() {
  RequireReplaceable(stage_, target_, kind_);
  if (LookAt(target_, kind_, true) == Occupant::kNothing) return MoveToFree(path_, target_);
  return ReplaceInTwoSteps();
}

// In two steps: moves the current target out, and the new one in.
bool Temporary::ReplaceInTwoSteps() {
  std::string aside = path_ + kAsideMark;
  if (!MoveToFree(target_, aside)) return false;
  bool foreign = LookAt(aside, kind_, true) == Occupant::kForeign;
  std::error_code failed;
  if (!foreign) fs::rename(PathOf(path_), PathOf(target_), failed);
  if (foreign || failed) {
    std::error_code ignored;
    fs::rename(PathOf(aside), PathOf(target_), ignored);
    if (foreign) ThrowTaken(stage_, target_, kind_);
    throw FileError(failed, target_, "cannot rename " + path_ + " to " + target_);
  }
  RemoveOurs(aside, kind_);
  return true;
}

void Temporary::Unlock() {
  if (lock_ < 0) return;
  _close(lock_);
  lock_ = -1;
  std::error_code ignored;
  fs::remove(PathOf(path_) / kLockName, ignored);
}

std::string StagingFolder() {
  auto path = (fs::temp_directory_path() / "penstock").u8string();  // each user has its own
  return std::string(path.begin(), path.end());
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  LeaveForeignLock();
  RequireWhole(path_);
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
