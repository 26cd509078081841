// Inspects and removes our files through descriptors, so that a link created meanwhile cannot
// redirect it.
#include "runtime/platform.h"
#if defined(PENSTOCK_POSIX)
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "storage/our_files.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Owns a descriptor; -1: no descriptor.
class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

// Opens the path itself: follows no link, and does not wait for a pipe.
int OpenItself(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

// All names in an open folder; false if they cannot be read.
bool NamesIn(int folder, std::vector<std::string>* names) {
  int own = openat(folder, ".", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (own < 0) return false;
  std::unique_ptr<DIR, CloseFolder> entries(fdopendir(own));
  if (!entries) {
    close(own);
    return false;
  }
  errno = 0;
  while (const dirent* entry = readdir(entries.get())) {
    std::string_view name = entry->d_name;
    if (name != "." && name != "..") names->emplace_back(name);
  }
  return errno == 0;
}

bool IsOurFolder(int folder, bool complete) {
  std::vector<std::string> names;
  if (!NamesIn(folder, &names)) return false;
  bool listed = names.empty();
  for (const std::string& name : names) {
    struct stat info;
    bool plain =
        fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
    if (!plain || !IsNameInOurFolder(name)) return false;
    listed = listed || name == kManifestName;
  }
  return listed || !complete;
}

bool IsOurFile(int file, int64_t size) {
  char begin[kChunkMagic.size()], end[kChunkEndMagic.size()];
  ssize_t got = pread(file, begin, sizeof(begin), 0);
  if (got < 0) return false;
  int64_t last = size - static_cast<int64_t>(sizeof(end));
  ssize_t tail = last < 0 ? 0 : pread(file, end, sizeof(end), last);
  if (tail < 0) return false;
  return IsOurContent({begin, static_cast<size_t>(got)}, {end, static_cast<size_t>(tail)});
}

bool IsOurs(int file, OurKind kind, bool complete) {
  struct stat info;
  if (fstat(file, &info) != 0) return false;
  if (kind == OurKind::kFolder) return S_ISDIR(info.st_mode) && IsOurFolder(file, complete);
  return S_ISREG(info.st_mode) && IsOurFile(file, info.st_size);
}

bool IsFolder(int file) {
  struct stat info;
  return fstat(file, &info) == 0 && S_ISDIR(info.st_mode);
}

// Removes one temporary next to a target.
void RemoveOneAbandoned(const std::string& path, const std::string& target, bool aside) {
  Descriptor file(OpenItself(path));
  struct stat info;
  if (file.get() < 0 || fstat(file.get(), &info) != 0 || info.st_uid != geteuid()) return;
  OurKind kind = IsFolder(file.get()) ? OurKind::kFolder : OurKind::kFile;
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) return;  // its process is alive
  if (!IsOurs(file.get(), kind, false)) return;
  struct stat there;
  bool gone = lstat(target.c_str(), &there) != 0 && errno == ENOENT;
  // Its process died between the two steps of a replacement.
  if (aside && gone) {
    (void)rename(path.c_str(), target.c_str());
  } else {
    RemoveOurs(path, kind);
  }
}

}  // namespace

Occupant LookAt(const std::string& path, OurKind kind, bool complete) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? Occupant::kNothing : Occupant::kForeign;
  }
  Descriptor file(OpenItself(path));
  return file.get() >= 0 && IsOurs(file.get(), kind, complete) ? Occupant::kOurs
                                                               : Occupant::kForeign;
}

void RemoveOurs(const std::string& path, OurKind kind) {
  if (kind == OurKind::kFile) {
    (void)unlink(path.c_str());
    return;
  }
  Descriptor folder(OpenItself(path));
  std::vector<std::string> names;
  if (folder.get() < 0 || !IsFolder(folder.get()) || !NamesIn(folder.get(), &names)) return;
  for (const std::string& name : names) {
    if (IsNameInOurFolder(name)) (void)unlinkat(folder.get(), name.c_str(), 0);
  }
  (void)rmdir(path.c_str());
}

void RemoveAbandoned(const std::string& target) {
  fs::path as_path(target);
  fs::path folder = as_path.parent_path().empty() ? fs::path(".") : as_path.parent_path();
  std::string name = as_path.filename().string();
  Descriptor beside(open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  std::vector<std::string> names;
  if (beside.get() < 0 || !NamesIn(beside.get(), &names)) return;
  for (const std::string& other : names) {
    bool aside = false;
    if (!IsTemporaryName(other, name, &aside)) continue;
    RemoveOneAbandoned((folder / other).string(), target, aside);
  }
}

}  // namespace penstock
#endif
