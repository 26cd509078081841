// Temporaries with open, flock and rename.
#include "runtime/platform.h"
#if defined(PENSTOCK_POSIX)
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(PENSTOCK_LINUX)
#include <sys/syscall.h>
#endif

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <new>

#include "data/error.h"
#include "runtime/blocking.h"
#include "runtime/clock.h"
#include "runtime/fork.h"
#include "storage/file_path.h"
#include "storage/remote.h"
#include "storage/temporary.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 100;  // while others commit and clean up at the same target

// Opens the path and locks it; -1 if another process holds the lock, or the path no longer exists.
int OpenLocked(const std::string& path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return -1;
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  close(file);
  return -1;
}

void SyncFolder(const std::string& path) {
  int folder = open(path.empty() ? "." : path.c_str(), O_RDONLY | O_CLOEXEC);
  if (folder < 0) return;
  (void)fsync(folder);  // not supported by every file system; the rename is atomic anyway
  close(folder);
}

// Atomically exchanges the names of two existing paths; false if the system cannot.
bool Exchange([[maybe_unused]] const std::string& one, [[maybe_unused]] const std::string& other) {
#if defined(PENSTOCK_LINUX) && defined(SYS_renameat2) && defined(RENAME_EXCHANGE)
  return syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) ==
         0;
#else
  return false;
#endif
}

// Renames to a free name; false if it has been taken meanwhile. Throws if the rename fails
// otherwise.
bool MoveToFree(const std::string& path, const std::string& target, OurKind kind) {
  // Renaming a folder replaces at most an empty folder.
  bool safe = kind == OurKind::kFolder;
  if (!safe && link(path.c_str(), target.c_str()) == 0) {
    (void)unlink(path.c_str());
    return true;
  }
  if (!safe && errno == EEXIST) return false;
  // Not every file system supports hard links. Without them, a file created at this moment is
  // replaced.
  if (rename(path.c_str(), target.c_str()) == 0) return true;
  if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) return false;
  throw Error::FromErrno(errno, target, "cannot rename " + path + " to " + target);
}

}  // namespace

Temporary::Temporary(std::string stage, const std::string& target, OurKind kind)
    : stage_(std::move(stage)),
      url_(IsRemote(target) ? target : ""),
      target_(LocalTarget(target)),
      kind_(kind) {
  LeaveForeignLock();
  RequireWhole(target_);
  while (target_.size() > 1 && target_.back() == '/') target_.pop_back();
  if (!url_.empty()) RequireReplaceable(stage_, url_, kind_);
  target_ = WithoutLink(target_);
  fs::path parent = fs::path(target_).parent_path();
  std::error_code failed;
  if (!parent.empty()) fs::create_directories(parent, failed);
  if (failed) throw Error::FromErrno(failed.value(), parent.string(), "cannot make the folder");
  RequireReplaceable(stage_, target_, kind_);
  RemoveAbandoned(target_);
  // Before it is locked, another process that cleans up may take the new one for abandoned.
  for (int tries = 0; !Make(); ++tries) {
    if (tries == kMostTries) {
      throw Error::FromErrno(EBUSY, path_, "cannot lock the temporary " + path_);
    }
  }
}

bool Temporary::Make() {
  static std::atomic<uint64_t> count{0};
  char name[64];
  // relaxed: the number only has to be unique.
  std::snprintf(name, sizeof(name), "%d-%llx-%llx", static_cast<int>(getpid()),
                static_cast<unsigned long long>(NowNs()),
                static_cast<unsigned long long>(count.fetch_add(1, std::memory_order_relaxed)));
  path_ = target_ + std::string(kTemporaryMark) + name;
  if (kind_ == OurKind::kFile) {
    int made = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (made < 0 && errno == EEXIST) return false;
    if (made < 0) throw Error::FromErrno(errno, path_, "cannot create");
    close(made);
  } else if (mkdir(path_.c_str(), 0777) != 0) {
    if (errno == EEXIST) return false;
    throw Error::FromErrno(errno, path_, "cannot create the folder");
  }
  lock_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (lock_ < 0) return false;
  struct stat info;
  // EWOULDBLOCK: it is being removed. Other failures: the file system has no locks; abandoned
  // temporaries can never be locked either, and therefore stay.
  bool taken = flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!taken && stat(path_.c_str(), &info) == 0) return true;
  close(lock_);
  lock_ = -1;
  return false;
}

Temporary::~Temporary() {
  // In a fork child it belongs to the parent.
  if (!committed_ && generation_ == ForkGeneration()) {
    try {
      RemoveOurs(path_, kind_);
    } catch (const std::bad_alloc&) {  // the next temporary for this target removes it
    }
  }
  if (lock_ >= 0) close(lock_);
}

void Temporary::Commit() {
  if (!url_.empty()) return Upload();
  LeaveForeignLock();
  for (int tries = 0; !TryReplace(); ++tries) {
    if (tries == kMostTries) throw Error::FromErrno(EBUSY, target_, "cannot replace " + target_);
  }
}

// One attempt; false if another process has changed the target meanwhile.
bool Temporary::TryReplace() {
  RequireReplaceable(stage_, target_, kind_);
  if (LookAt(target_, kind_, true) == Occupant::kNothing) {
    if (!MoveToFree(path_, target_, kind_)) return false;
    Committed();
    return true;
  }
  if (!Exchange(path_, target_)) {
    if (kind_ == OurKind::kFolder) return ReplaceInTwoSteps();
    if (rename(path_.c_str(), target_.c_str()) != 0) {
      throw Error::FromErrno(errno, target_, "cannot rename " + path_ + " to " + target_);
    }
    Committed();
    return true;
  }
  // Inspect the replaced target now that no other process can change it any more.
  if (LookAt(path_, kind_, true) == Occupant::kForeign) {
    Exchange(path_, target_);
    ThrowTaken(stage_, target_, kind_);
  }
  Committed();
  RemoveOurs(path_, kind_);
  return true;
}

// Replaces a folder in two steps. The former one stays locked until the new one has its name,
// because other processes would restore it.
bool Temporary::ReplaceInTwoSteps() {
  int former = OpenLocked(target_);
  if (former < 0) return false;
  std::string aside = path_ + kAsideMark;
  if (rename(target_.c_str(), aside.c_str()) != 0) {
    int code = errno;
    close(former);
    if (code == ENOENT) return false;
    throw Error::FromErrno(code, target_, "cannot replace " + target_);
  }
  bool foreign = LookAt(aside, kind_, true) == Occupant::kForeign;
  bool moved = !foreign && rename(path_.c_str(), target_.c_str()) == 0;
  int code = errno;
  if (!moved) (void)rename(aside.c_str(), target_.c_str());
  close(former);
  if (foreign) ThrowTaken(stage_, target_, kind_);
  if (!moved) throw Error::FromErrno(code, target_, "cannot rename " + path_ + " to " + target_);
  Committed();
  RemoveOurs(aside, kind_);
  return true;
}

void Temporary::Committed() {
  Unlock();
  committed_ = true;
  SyncFolder(fs::path(target_).parent_path().string());
}

void Temporary::Unlock() {
  close(lock_);
  lock_ = -1;
}

std::string StagingFolder() {
  const std::string path =
      (fs::temp_directory_path() / Format("penstock-{}", static_cast<int64_t>(geteuid()))).string();
  struct stat info;
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    throw Error::FromErrno(errno, path, "cannot make the folder");
  }
  // The owner of the folder could put other files there.
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid()) {
    throw Error::FromErrno(EPERM, path, "cannot use a folder of another user; set TMPDIR");
  }
  // Other users may have put files there, or could read private data.
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw Error::FromErrno(
        EPERM, path, "cannot use a folder that other users may enter; remove it, or set TMPDIR");
  }
  return path;
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  LeaveForeignLock();
  RequireWhole(path_);
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file_ < 0) throw Error::FromErrno(errno, path_, "cannot create");
}

OutputFile::~OutputFile() {
  if (file_ >= 0) close(file_);
}

void OutputFile::Write(const void* data, size_t size) {
  LeaveForeignLock();
  auto* from = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t put = write(file_, from, size);
    if (put < 0) {
      if (errno == EINTR) continue;
      throw Error::FromErrno(errno, path_, Format("cannot write at byte {}", size_));
    }
    from += put;
    size -= static_cast<size_t>(put);
    size_ += put;
  }
}

void OutputFile::Close() {
  LeaveForeignLock();
  int synced = fsync(file_);
  int code = errno;
  int closed = close(file_);
  if (synced == 0) code = errno;
  file_ = -1;
  if (synced != 0 || closed != 0) throw Error::FromErrno(code, path_, "cannot write to the disk");
}

}  // namespace penstock
#endif
