// Inspects and removes our files on Windows, where a file that a process has opened without sharing
// cannot be removed: that is the lock of a temporary.
#if defined(_WIN32)
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "storage/our_files.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

fs::path PathOf(const std::string& utf8) {
  return fs::path(std::u8string(utf8.begin(), utf8.end()));
}

std::string NameOf(const fs::path& path) {
  std::u8string name = path.filename().u8string();
  return std::string(name.begin(), name.end());
}

bool IsOurFolder(const fs::path& path, bool complete) {
  std::error_code failed;
  bool empty = true, listed = false;
  for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code unknown;
    std::string name = NameOf(at->path());
    bool plain = at->symlink_status(unknown).type() == fs::file_type::regular;
    if (!plain || !IsNameInOurFolder(name)) return false;
    empty = false;
    listed = listed || name == kManifestName;
  }
  return !failed && (listed || empty || !complete);
}

// False for a file that a process, its writer, has opened without sharing.
bool IsOurFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  char begin[kChunkMagic.size()], end[kChunkEndMagic.size()];
  if (!file) return false;
  file.read(begin, sizeof(begin));
  auto got = static_cast<size_t>(file.gcount());
  file.clear();
  size_t tail = 0;
  if (file.seekg(-static_cast<std::streamoff>(sizeof(end)), std::ios::end)) {
    file.read(end, sizeof(end));
    tail = static_cast<size_t>(file.gcount());
  }
  return IsOurContent({begin, got}, {end, tail});
}

bool IsOurs(const fs::path& path, OurKind kind, bool complete) {
  std::error_code unknown;
  fs::file_type type = fs::symlink_status(path, unknown).type();
  if (kind == OurKind::kFolder) {
    return type == fs::file_type::directory && IsOurFolder(path, complete);
  }
  return type == fs::file_type::regular && IsOurFile(path);
}

// Whether its process is alive: the lock inside it then cannot be removed.
bool IsHeld(const fs::path& path, OurKind kind) {
  std::error_code failed;
  if (kind == OurKind::kFolder) {
    fs::path lock = path / kLockName;
    return fs::exists(lock, failed) && !fs::remove(lock, failed);
  }
  return false;  // removing the file itself fails
}

}  // namespace

Occupant LookAt(const std::string& path, OurKind kind, bool complete) {
  std::error_code unknown;
  fs::path itself = PathOf(path);
  if (fs::symlink_status(itself, unknown).type() == fs::file_type::not_found) {
    return Occupant::kNothing;
  }
  return IsOurs(itself, kind, complete) ? Occupant::kOurs : Occupant::kForeign;
}

void RemoveOurs(const std::string& path, OurKind kind) {
  fs::path itself = PathOf(path);
  std::error_code failed;
  if (kind == OurKind::kFolder) {
    std::vector<fs::path> ours;
    for (fs::directory_iterator at(itself, failed), end; !failed && at != end;
         at.increment(failed)) {
      if (IsNameInOurFolder(NameOf(at->path()))) ours.push_back(at->path());
    }
    std::error_code held;
    for (const fs::path& file : ours) fs::remove(file, held);
  }
  fs::remove(itself, failed);  // removes a folder only if it is empty
}

void RemoveAbandoned(const std::string& target) {
  fs::path as_path = PathOf(target);
  fs::path folder = as_path.parent_path().empty() ? fs::path(".") : as_path.parent_path();
  std::string name = NameOf(as_path);
  std::error_code failed;
  std::vector<std::pair<fs::path, bool>> found;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    bool aside = false;
    if (IsTemporaryName(NameOf(at->path()), name, &aside)) found.emplace_back(at->path(), aside);
  }
  for (auto& [path, aside] : found) {
    std::error_code unknown;
    OurKind kind = fs::is_directory(path, unknown) ? OurKind::kFolder : OurKind::kFile;
    if (!IsOurs(path, kind, false) || IsHeld(path, kind)) continue;
    // Its process died between the two steps of a replacement.
    if (aside && !fs::exists(as_path, unknown)) {
      fs::rename(path, as_path, unknown);
    } else {
      std::u8string text = path.u8string();
      RemoveOurs(std::string(text.begin(), text.end()), kind);
    }
  }
}

}  // namespace penstock
#endif
