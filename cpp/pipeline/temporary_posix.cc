// Temporaries by open, flock and rename.
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

#include "element/error.h"
#include "pipeline/temporary.h"
#include "runtime/blocking.h"
#include "runtime/clock.h"
#include "runtime/fork.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = ".tmp-";

// Opens what is there and takes its lock; -1 when it is somebody's, or gone.
int OpenLocked(const std::string& path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return -1;
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  close(file);
  return -1;
}

void RemoveAbandoned(const fs::path& target) {
  std::error_code ignored;
  fs::path folder = target.parent_path().empty() ? fs::path(".") : target.parent_path();
  std::string begin = target.filename().string() + std::string(kMark);
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    if (at->path().filename().string().compare(0, begin.size(), begin) != 0) continue;
    int lock = OpenLocked(at->path().string());
    if (lock < 0) continue;
    std::error_code failed;  // somebody else's to remove
    fs::remove_all(at->path(), failed);
    close(lock);
  }
}

void SyncFolder(const std::string& path) {
  int folder = open(path.empty() ? "." : path.c_str(), O_RDONLY | O_CLOEXEC);
  if (folder < 0) return;
  (void)fsync(folder);  // not every file system can; the rename is atomic without
  close(folder);
}

// Both exist, and each gets the other's name at once; false where the system cannot.
bool Exchange([[maybe_unused]] const std::string& one, [[maybe_unused]] const std::string& other) {
#if defined(PENSTOCK_LINUX) && defined(SYS_renameat2) && defined(RENAME_EXCHANGE)
  return syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) ==
         0;
#else
  return false;
#endif
}

}  // namespace

Temporary::Temporary(std::string target, Kind kind) : target_(std::move(target)), kind_(kind) {
  LeaveForeignLock();
  while (target_.size() > 1 && target_.back() == '/') target_.pop_back();
  fs::path parent = fs::path(target_).parent_path();
  std::error_code failed;
  if (!parent.empty()) fs::create_directories(parent, failed);
  if (failed) throw Error::FromErrno(failed.value(), parent.string(), "cannot make the folder");
  RemoveAbandoned(target_);
  // Another process that cleans up may take a new one for an abandoned one before it is locked.
  for (int tries = 0; !Make(); ++tries) {
    if (tries == 100) throw Error::FromErrno(EBUSY, path_, "cannot lock the temporary " + path_);
  }
}

bool Temporary::Make() {
  static std::atomic<uint64_t> count{0};
  char name[64];
  std::snprintf(name, sizeof(name), "%d-%llx-%llx", static_cast<int>(getpid()),
                static_cast<unsigned long long>(NowNs()),
                static_cast<unsigned long long>(count.fetch_add(1, std::memory_order_relaxed)));
  path_ = target_ + std::string(kMark) + name;
  if (kind_ == Kind::kFile) {
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
  // EWOULDBLOCK: it is being removed. Other failures: a file system without locks, where abandoned
  // ones are never found free either, and stay.
  bool taken = flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!taken && stat(path_.c_str(), &info) == 0) return true;
  close(lock_);
  lock_ = -1;
  return false;
}

void Temporary::Remove() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Temporary::~Temporary() {
  if (lock_ >= 0) close(lock_);
  // In a fork child it is the parent's.
  if (!committed_ && generation_ == ForkGeneration()) Remove();
}

void Temporary::Commit() {
  LeaveForeignLock();
  std::string former;
  if (kind_ == Kind::kFolder && fs::exists(fs::symlink_status(target_))) {
    former = path_;
    if (!Exchange(path_, target_)) {
      former = target_ + ".old" + path_.substr(target_.size());
      if (rename(target_.c_str(), former.c_str()) != 0) {
        throw Error::FromErrno(errno, target_, "cannot replace " + target_);
      }
    }
  }
  if (former != path_ && rename(path_.c_str(), target_.c_str()) != 0) {
    int code = errno;
    if (!former.empty()) (void)rename(former.c_str(), target_.c_str());
    throw Error::FromErrno(code, target_, "cannot rename " + path_ + " to its place");
  }
  close(lock_);
  lock_ = -1;
  committed_ = true;
  SyncFolder(fs::path(target_).parent_path().string());
  std::error_code ignored;
  if (!former.empty()) fs::remove_all(former, ignored);
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  LeaveForeignLock();
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
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
